package flow

import (
	"context"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
)

// share is the part of a notice that says the same to all of its recipients.
type share struct {
	notice notice
	to     []posthouse.Recipient
}

// shares splits the recipients of a notice by what they are to read. Where several nodes follow one that is done, each
// handler reads the name and the time of the node that is his, or of all that are.
func (t *taking) shares(ctx context.Context, n notice, to []posthouse.Recipient) ([]share, error) {
	if len(n.next) < 2 || len(to) == 0 {
		return []share{{n, to}}, nil
	}
	nodes, err := t.handledBy(ctx, n)
	if err != nil {
		return nil, err
	}
	var out []share
	place := map[string]int{}
	for _, r := range to {
		own := nodes[who(r)]
		if len(own) == 0 {
			own = n.next // the resolver names him for all of them together
		}
		at, known := place[idsOfNodes(own)]
		if !known {
			at = len(out)
			place[idsOfNodes(own)] = at
			out = append(out, share{notice: n.about(own)})
		}
		out[at].to = append(out[at].to, r)
	}
	return out, nil
}

// handledBy are the following nodes of each handler.
func (t *taking) handledBy(ctx context.Context, n notice) (map[string][]following, error) {
	d := deriver{task: &t.ledger.Known.Task.Value}
	out := map[string][]following{}
	for _, f := range n.next {
		found, _, err := t.ask(ctx, n.kind, d.handlers([]string{f.ID}))
		if err != nil {
			return nil, err
		}
		for _, r := range found.To {
			if own := out[who(r)]; !slices.Contains(own, f) {
				out[who(r)] = append(own, f)
			}
		}
	}
	return out, nil
}

// about is the notice for those who handle some of the following nodes.
func (n notice) about(own []following) notice {
	n.payload = maps.Clone(n.payload)
	n.follows(own)
	return n
}

// who tells recipients apart.
func who(r posthouse.Recipient) string { return r.User + "\x00" + r.Address }

// idsOfNodes tells sets of nodes apart: they stand in one order.
func idsOfNodes(list []following) string {
	var ids []string
	for _, f := range list {
		ids = append(ids, f.ID)
	}
	return string(canonical(ids))
}
