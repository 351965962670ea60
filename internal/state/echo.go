package state

import (
	"strings"

	"github.com/posthouse/posthouse/channel"
)

// leastEcho is how much of a content in what a provider calls its id or code is no chance, in bytes: a code has four digits.
const leastEcho = 4

// unechoed is a provider's id of a sensitive message, or its code, empty where it repeats what the message says: a channel's
// configuration chooses which part of an answer is taken for either.
func unechoed(ref string, out *channel.Outgoing) string {
	for _, said := range []string{out.Content.Title, out.Content.Text, string(out.Payload)} {
		if said != "" && (len(ref) >= leastEcho && strings.Contains(said, ref) || strings.Contains(ref, said)) {
			return ""
		}
	}
	return ref
}

// Hush drops the excerpts of what went to a provider and came back, and what it said, where they may hold a sensitive
// content. A code stays, and so does the provider's id, unless it repeats the content.
func Hush(results []channel.Result, outs []channel.Outgoing) {
	for i := range outs {
		r := &results[i]
		r.Request, r.Response, r.Error, r.Ref = "", "", Hidden(r.Error), unechoed(r.Ref, &outs[i])
		r.Code = unechoed(r.Code, &outs[i])
	}
}
