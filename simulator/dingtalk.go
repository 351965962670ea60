package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// beijing is where the days of DingTalk's rules begin.
var beijing = time.FixedZone("UTC+8", 8*60*60)

// keysOf reads the keys that our driver sends along for n recipients: of all but the first only the last
// four characters, where the others are the first's. Without them, or with another number, there are none.
func keysOf(r *http.Request, n int) []string {
	header := r.Header.Get("X-Posthouse-Keys")
	keys := strings.Split(header, ",")
	if header == "" || n > 0 && len(keys) != n {
		return make([]string, n)
	}
	first := keys[0]
	for i, key := range keys {
		if len(key) == 4 && len(first) > 4 {
			keys[i] = first[:len(first)-4] + key
		}
	}
	return keys
}

// wholly refuses an order whose provider refuses all or nothing.
func wholly(refusals []*refusal) {
	for _, ref := range refusals {
		if ref != nil {
			fill(refusals, ref)
			return
		}
	}
}

func fill(refusals []*refusal, ref *refusal) {
	for i := range refusals {
		refusals[i] = ref
	}
}

// allRefused are the refusals of an order of n messages, each for the same reason.
func allRefused(n int, code Code, own, format string, args ...any) []*refusal {
	refusals := make([]*refusal, n)
	fill(refusals, &refusal{code: code, own: own, text: fmt.Sprintf(format, args...)})
	return refusals
}

// strange is a call that does not make sense, with the provider's own code.
func strange(own, format string, args ...any) *refusal {
	ref := malformed(format, args...)
	ref.own = own
	return ref
}

// errorLine is an error of DingTalk's older interface.
func errorLine(own, text string) reply {
	return inJSON(`{"errcode":` + own + `,"errmsg":` + quote(text) + `}`)
}

// ownCode is the provider's code of a refusal: its own, or the one for ours.
func ownCode(ref *refusal, table map[Code]string) string {
	if ref.own != "" {
		return ref.own
	}
	return table[ref.code]
}

// jsonLine is a value of texts as JSON.
func jsonLine(v any) string {
	b, _ := json.Marshal(v) // texts
	return string(b)
}
