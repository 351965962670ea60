package inbound

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/work"
)

// Resolver ends what tells of something that is over. It returns what became of these notifications, and who had been told by them, by the channel.
type Resolver interface {
	Resolve(ctx context.Context, tenant string, over work.Over) (ended work.Ended, told map[string][]posthouse.Recipient, err error)
	// Known is what notifications tell of that is not over.
	Known(ctx context.Context, tenant string, about work.Over) (work.Ongoing, error)
}

// routed reports whether messages of a front may follow routes.
func routed(f *posthouse.Front) bool {
	return f.Route != "" || slices.ContainsFunc(f.Match, func(l posthouse.FrontMatch) bool { return l.Route != "" })
}

// resolve ends the notifications of what messages say is over. It returns the messages that are to be told as others are, and what whoever had been
// told is to hear of the others, which follow no route: nobody is turned to for what is over.
func (d *Desk) resolve(form *Form, in *Request, messages []Message) (rest []Message, drafts []posthouse.Draft, ended work.Ended, err error) {
	if d.o.Resolver == nil || !routed(&in.Front) {
		return messages, nil, ended, nil
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
		n, told, err := d.o.Resolver.Resolve(in.Context(), in.Front.Tenant, over)
		if err != nil {
			return nil, nil, ended, err
		}
		if ended.Add(n); own.Route == "" {
			rest = append(rest, *m) // its channel hears of it in any case
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(told)) {
			out := own
			out.Channel, out.Route, out.To, out.DedupKey = name, "", told[name], "front:"+sum([]byte(own.DedupKey+"\x00over"))
			out.Content = d.contentOf(in, m, target{tenant: in.Front.Tenant, channels: []string{name}})
			drafts = append(drafts, out)
		}
	}
	if ended.Stopped > 0 {
		in.Note(fmt.Sprintf("%d notifications go no further: what they tell of is over", ended.Stopped))
	}
	return rest, drafts, ended, nil
}

// tellOver hands in what is told of the end. What a channel refuses of it is left out, and the call says so: the end is written down already.
func (d *Desk) tellOver(in *Request, drafts []posthouse.Draft) (answer intake.Answer, err error) {
	for i := range drafts {
		one, err := d.accept(in, nil, drafts[i:i+1])
		if posthouse.CodeOf(err) == posthouse.CodeInvalid && err != nil {
			in.Note(fmt.Sprintf("channel %s does not tell that it is over: %v", drafts[i].Channel, err))
			continue
		}
		if err != nil {
			return answer, err
		}
		answer.Accepted = append(answer.Accepted, one.Accepted...)
	}
	return answer, nil
}
