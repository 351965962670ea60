package intake

import (
	"context"

	"github.com/posthouse/posthouse"
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
