// Package batch makes one call of a provider for many deliveries, and tells their results apart.
package batch

import (
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// distinct picks the deliveries that have an address, one for each address. At says for each of outs where
// in list its address stands, -1 for one without.
func distinct(outs []channel.Outgoing) (list []channel.Outgoing, at []int) {
	seen := make(map[string]int, len(outs))
	for _, out := range outs {
		i, known := seen[out.Recipient.Address]
		switch {
		case out.Recipient.Address == "":
			i = -1
		case !known:
			i = len(list)
			seen[out.Recipient.Address] = i
			list = append(list, out)
		}
		at = append(at, i)
	}
	return list, at
}

// All makes one call for all deliveries that have an address, and answers nowhere for the others.
func All(outs []channel.Outgoing, nowhere channel.Result, call func([]channel.Outgoing) []channel.Result) []channel.Result {
	list, at := distinct(outs)
	var answers []channel.Result
	if len(list) > 0 {
		answers = call(list)
	}
	results := make([]channel.Result, len(outs))
	for i := range outs {
		results[i] = nowhere
		if at[i] >= 0 {
			results[i] = answers[at[i]]
		}
	}
	return results
}

// Shared marks the results of a call that has told deliveries of several messages: who takes one of these messages back would take back the
// others by the same ref.
func Shared(outs []channel.Outgoing, results []channel.Result) []channel.Result {
	if !slices.ContainsFunc(outs, func(o channel.Outgoing) bool { return o.Message != outs[0].Message }) {
		return results
	}
	for i := range results {
		if results[i].Class == posthouse.ClassOK {
			results[i].Code = channel.SharedCode(len(outs))
		}
	}
	return results
}

// Halving is [All] for a provider that accepts or refuses a call as a whole. Where it refuses one for the sake of some
// recipient that it does not name, the halves are sent by themselves until it is found: a refused call has reached nobody, so
// each delivery is accepted at most once all the same.
func Halving(outs []channel.Outgoing, nowhere channel.Result, call func([]channel.Outgoing) channel.Result) []channel.Result {
	return All(outs, nowhere, func(outs []channel.Outgoing) []channel.Result { return halves(outs, call) })
}

func halves(outs []channel.Outgoing, call func([]channel.Outgoing) channel.Result) []channel.Result {
	r := call(outs)
	if r.Class != posthouse.ClassRecipient || len(outs) == 1 {
		return Shared(outs, slices.Repeat([]channel.Result{r}, len(outs)))
	}
	half := len(outs) / 2
	return append(halves(outs[:half], call), halves(outs[half:], call)...)
}

// Addresses lists the deliveries' addresses.
func Addresses(outs []channel.Outgoing) []string {
	list := make([]string, len(outs))
	for i, out := range outs {
		list[i] = out.Recipient.Address
	}
	return list
}

// keysHeader carries the deliveries' idempotency keys, in the order of the recipients. No provider's
// interface reads it; logs of gateways and proxies show it, and our simulator tells deliveries apart by it.
const keysHeader = "X-Posthouse-Keys"

// WithKeys adds the keys to a header. Of all but the first only the last four characters are written
// where the others are the same, as they are within a message: a thousand keys take 5 KB then.
func WithKeys(header http.Header, outs []channel.Outgoing) http.Header {
	var b strings.Builder
	first := outs[0].IdemKey
	b.WriteString(first)
	for _, out := range outs[1:] {
		key, same := out.IdemKey, len(first)-4
		if same > 0 && len(key) == len(first) && key[:same] == first[:same] {
			key = key[same:]
		}
		b.WriteString("," + key)
	}
	if !channel.ValidHeader(keysHeader, b.String()) {
		return header
	}
	out := header.Clone()
	out[keysHeader] = []string{b.String()}
	return out
}

// IsPhone reports whether an address is a phone number: 11 digits, or a + and digits.
func IsPhone(address string) bool {
	digits, foreign := strings.CutPrefix(address, "+")
	return (foreign || len(digits) == 11) && digits != "" && strings.Trim(digits, "0123456789-") == ""
}

// Phone is the one form of a phone number of mainland China, its 11 digits, where an address is such a number in another form:
// +8613800138002, 0086 138 0013 8002 or 138-0013-8002. Any other address is returned as it is: of a number from elsewhere the
// provider wants to see where its country's code ends.
func Phone(address string) string {
	digits := strings.NewReplacer(" ", "", "-", "").Replace(address)
	for _, code := range []string{"+86", "0086"} {
		digits = strings.TrimPrefix(digits, code)
	}
	if len(digits) != 11 || digits[0] != '1' || strings.Trim(digits, "0123456789") != "" {
		return address
	}
	return digits
}

// PhonesFirst are the deliveries with those first whose address is a phone number: a robot's post names the numbers
// before the user ids.
func PhonesFirst(outs []channel.Outgoing) []channel.Outgoing {
	rank := func(out channel.Outgoing) int {
		if IsPhone(out.Recipient.Address) {
			return 0
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(outs), func(a, b channel.Outgoing) int { return rank(a) - rank(b) })
}
