package dingtalk

import (
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// noAddress answers a delivery whose recipient DingTalk cannot know.
func noAddress() channel.Result {
	return channel.Result{
		Class: posthouse.ClassRecipient, Code: codeNoAddress,
		Error: "the recipient has no DingTalk user id: give the user an address on this channel",
	}
}

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

// callAll makes one call for all deliveries that have an address. Where the provider refuses the whole
// call for the sake of some recipient it does not name, the halves are sent by themselves until it is
// found: a refused call has reached nobody, so each delivery is accepted at most once all the same.
func callAll(outs []channel.Outgoing, call func([]channel.Outgoing) channel.Result) []channel.Result {
	list, at := distinct(outs)
	var answers []channel.Result
	if len(list) > 0 {
		answers = halving(list, call)
	}
	results := make([]channel.Result, len(outs))
	for i := range outs {
		results[i] = noAddress()
		if at[i] >= 0 {
			results[i] = answers[at[i]]
		}
	}
	return results
}

func halving(outs []channel.Outgoing, call func([]channel.Outgoing) channel.Result) []channel.Result {
	r := call(outs)
	if r.Class != posthouse.ClassRecipient || len(outs) == 1 {
		return slices.Repeat([]channel.Result{r}, len(outs))
	}
	half := len(outs) / 2
	return append(halving(outs[:half], call), halving(outs[half:], call)...)
}

// addresses lists the deliveries' addresses.
func addresses(outs []channel.Outgoing) []string {
	list := make([]string, len(outs))
	for i, out := range outs {
		list[i] = out.Recipient.Address
	}
	return list
}

// keysHeader carries the deliveries' idempotency keys, in the order of the recipients. None of DingTalk's
// interfaces reads it; logs of gateways and proxies show it, and our simulator tells deliveries apart by it.
const keysHeader = "X-Posthouse-Keys"

// withKeys adds the keys to a header. Of all but the first only the last four characters are written
// where the others are the same, as they are within a message: a thousand keys take 5 KB then.
func withKeys(header http.Header, outs []channel.Outgoing) http.Header {
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
