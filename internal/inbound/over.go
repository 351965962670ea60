package inbound

import (
	"context"
	"fmt"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Resolver ends what tells of something that is over, and has whoever got something of it hear of the end.
type Resolver interface {
	Resolve(ctx context.Context, tenant string, over work.Over) (ended work.Ended, err error)
	// Known is what notifications tell of that is not over.
	Known(ctx context.Context, tenant string, about work.Over) (work.Ongoing, error)
}

// routed reports whether messages of a front may follow routes.
func routed(f *posthouse.Front) bool {
	return f.Route != "" || slices.ContainsFunc(f.Match, func(l posthouse.FrontMatch) bool { return l.Route != "" })
}

// resolve ends the notifications of what messages say is over. It returns the messages that are to be told as others are. Of the others whoever got
// something hears, and they follow no route: nobody is turned to for what is over.
func (d *Desk) resolve(form *Form, in *Request, messages []Message) (rest []Message, ended work.Ended, err error) {
	if d.o.Resolver == nil || !routed(&in.Front) {
		return messages, ended, nil
	}
	for i := range messages {
		m := &messages[i]
		if !m.Over {
			rest = append(rest, *m)
			continue
		}
		own := blank(form, in, m)
		over := work.Over{Kind: own.Kind, Ref: own.Ref, Source: own.Source, By: own.DedupKey}
		if m.Ends != "" {
			begun := *m
			begun.Key = m.Ends
			over.Key = blank(form, in, &begun).DedupKey
		}
		if own.Route == "" {
			rest = append(rest, *m) // its channel hears of it in any case
		} else {
			over.Tells = own
			over.Tells.Route, over.Tells.To, over.Tells.DedupWindow = "", nil, 0
			over.Content = func(channel string) *posthouse.Content {
				return d.contentOf(in, m, target{tenant: in.Front.Tenant, channels: []string{channel}})
			}
		}
		n, err := d.o.Resolver.Resolve(in.Context(), in.Front.Tenant, over)
		if err != nil {
			return nil, ended, err
		}
		ended.Add(n)
	}
	if ended.Stopped > 0 {
		in.Note(fmt.Sprintf("%d notifications go no further: what they tell of is over", ended.Stopped))
	}
	return rest, ended, nil
}
