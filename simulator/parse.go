package simulator

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

// ParseBehaviour reads {"faults": [{"kind": …}, …], "limit": {"max": 20, "per": "1s"}}
// strictly: unknown, malformed and impossible fields are all reported at once.
func ParseBehaviour(body []byte) (Behaviour, error) {
	var b Behaviour
	var out problems
	var faults []json.RawMessage
	var limit json.RawMessage
	var accounts []json.RawMessage
	out.object("", body, map[string]any{"faults": &faults, "limit": &limit, "accounts": &accounts})
	for i, raw := range faults {
		b.Faults = append(b.Faults, parseFault(fmt.Sprintf("faults[%d].", i), raw, &out))
	}
	if len(limit) > 0 && string(limit) != "null" {
		b.Limit = &Limit{}
		out.object("limit.", limit, map[string]any{"max": &b.Limit.Max, "per": &b.Limit.Per, "lockout": &b.Limit.Lockout})
	}
	for i, raw := range accounts {
		b.Accounts = append(b.Accounts, parseAccounts(fmt.Sprintf("accounts[%d].", i), raw, &out))
	}
	if len(out) == 0 {
		out = b.check()
	}
	return b, posthouse.Invalid("the behaviour cannot be used", out)
}

func parseFault(at string, raw json.RawMessage, out *problems) Fault {
	var f Fault
	out.object(at, raw, map[string]any{
		"kind": &f.Kind, "probability": &f.Probability, "recipient": &f.Recipient, "times": &f.Times,
		"latency": &f.Latency, "jitter": &f.Jitter, "retry_after": &f.RetryAfter,
		"status": &f.Status, "code": &f.Code, "location": &f.Location,
	})
	return f
}

func parseAccounts(at string, raw json.RawMessage, out *problems) AccountLimit {
	var l AccountLimit
	var windows []json.RawMessage
	out.object(at, raw, map[string]any{"accounts": &l.Accounts, "windows": &windows, "lockout": &l.Lockout, "relapse": &l.Relapse})
	for i, one := range windows {
		l.Windows = append(l.Windows, Limit{})
		out.object(fmt.Sprintf("%swindows[%d].", at, i), one, map[string]any{"max": &l.Windows[i].Max, "per": &l.Windows[i].Per})
	}
	return l
}

// object decodes an object's fields one by one, so that each error has its
// field's path. An empty path is the body itself.
func (p *problems) object(at string, raw []byte, fields map[string]any) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		p.add(cmp.Or(strings.TrimSuffix(at, "."), "body"), "it is not a JSON object%s", reason(err, &members))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		field, known := fields[name]
		if !known {
			p.add(at+name, "there is no such field; allowed are %s", words(slices.Sorted(maps.Keys(fields))))
			continue
		}
		if err := json.Unmarshal(members[name], field); err != nil {
			p.add(at+name, "it cannot be read%s", reason(err, field))
		}
	}
}

// reason says in a person's words why JSON could not be decoded.
func reason(err error, into any) string {
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &kind):
		return fmt.Sprintf(": it is a JSON %s and must be %s", kind.Value, wanted(into))
	default:
		return ": " + err.Error()
	}
}

// wanted is the JSON form of what a field is decoded into.
func wanted(into any) string {
	switch into.(type) {
	case *int:
		return "a whole number"
	case **float64:
		return "a number"
	case *[]json.RawMessage:
		return "a list"
	case *map[string]json.RawMessage:
		return "an object"
	case *posthouse.Duration:
		return `a duration such as "200ms" or "90s"`
	default:
		return "a string"
	}
}
