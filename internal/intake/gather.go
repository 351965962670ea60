package intake

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// gather says by what the deliveries of an entry are gathered whose message names a digest. What is critical leaves at once.
func (in *Intake) gather(ctx context.Context, e *work.Entry, p *draft.Problems) error {
	name := e.Message.Digest
	if name == "" {
		return nil
	}
	if in.o.Gatherer == nil {
		p.Add("digest", "digests are not known here")
		return nil
	}
	list, err := in.o.Gatherer.Gather(ctx, name, &e.Message, e.Deliveries)
	switch posthouse.CodeOf(err) {
	case posthouse.CodeNotFound:
		p.Add("digest", "there is no digest %.80q: posthouse digest list shows those there are", name)
		return nil
	case posthouse.CodeInvalid:
		p.Add("digest", "%v", err)
		return nil
	}
	if err != nil || e.Message.Critical {
		return err
	}
	for i := range list {
		if list[i].Key != "" {
			e.Gathered = list
			e.Deliveries[i].Reason = state.ReasonDigest
		}
	}
	return nil
}

// Refused is why a draft of ours would not be accepted now, or not be taken by its provider; nil where nothing is known against it.
func (in *Intake) Refused(ctx context.Context, tenant string, d posthouse.Draft) (why, err error) {
	if err := in.meet(ctx, tenant, []posthouse.Draft{d}); err != nil {
		return nil, err
	}
	if in.broken(tenant, d.Channel) {
		return nil, posthouse.Errorf(posthouse.CodeUnavailable, "channel %q cannot be opened and takes no messages until it is repaired; /readyz says why", d.Channel)
	}
	sub := &work.Submission{Tenant: tenant}
	req := Request{Tenant: tenant, Caller: work.Caller{Sight: work.SeeAll(), Critical: true}, Drafts: []posthouse.Draft{d}}
	switch err := in.enter(ctx, sub, &req, nil, in.o.Life.Now()); posthouse.CodeOf(err) {
	case posthouse.CodeInvalid, posthouse.CodeForbidden:
		return err, nil
	default:
		if err != nil {
			return nil, err
		}
	}
	return posthouse.Invalid("the message cannot be accepted", in.unfit(&sub.Entries[0].Message)), nil
}

// unfit says what the provider of a message's channel refuses of a content that it is handed, as far as its driver knows.
func (in *Intake) unfit(m *posthouse.Message) (problems []posthouse.Problem) {
	r := in.o.Channels.Channel(m.Tenant, m.Channel)
	if r == nil || r.Settings.Pulled {
		return nil
	}
	fitter, knows := r.Opened.Driver.(channel.Fitter)
	if !knows {
		return nil
	}
	for _, p := range fitter.Fit(m.Content) {
		if p.Path == "content" { // what is cut, or costs more, is sent all the same
			problems = append(problems, p)
		}
	}
	return problems
}
