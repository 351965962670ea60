package inbound

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// nothingNew finds the messages by routes that tell of nothing new: of things alone of which notifications tell that wait, or were acknowledged, and whose
// end nobody has said. Each is that notification's message once more, by its place. One of which a part is over is no reminder: it begins nothing
// either where somebody was told and no more is waited for.
func (d *Desk) nothingNew(form *Form, in *Request, messages []Message) (again map[int]posthouse.Accepted, err error) {
	if d.o.Resolver == nil || !routed(&in.Front) {
		return nil, nil
	}
	again = map[int]posthouse.Accepted{}
	looked := map[string]work.Ongoing{} // by the ref, which a call has one of as a rule
	for i := range messages {
		m := &messages[i]
		if m.Things == nil {
			continue
		}
		own := blank(form, in, m)
		if own.Route == "" {
			continue
		}
		known, is := looked[own.Ref]
		if !is {
			if known, err = d.o.Resolver.Known(in.Context(), in.Front.Tenant, work.Over{Kind: own.Kind, Ref: own.Ref, Source: own.Source}); err != nil {
				return nil, err
			}
			looked[own.Ref] = known
		}
		told := &known.Open
		if m.Partly {
			told = &known.Told
		}
		if by := told.Of(m.Things); by != "" {
			again[i] = posthouse.Accepted{ID: by, DuplicateOf: by}
		}
	}
	return again, nil
}

// without are the messages that are none of those that were known.
func without(messages []Message, again map[int]posthouse.Accepted) (rest []Message) {
	for i := range messages {
		if _, is := again[i]; !is {
			rest = append(rest, messages[i])
		}
	}
	return rest
}

// inPlace puts what was known between what was accepted, in the order of the messages. What is left of accepted are files.
func inPlace(n int, again map[int]posthouse.Accepted, accepted []posthouse.Accepted) (list []posthouse.Accepted) {
	for i := range n {
		if one, is := again[i]; is {
			list = append(list, one)
		} else if len(accepted) > 0 {
			list, accepted = append(list, accepted[0]), accepted[1:]
		}
	}
	return append(list, accepted...)
}
