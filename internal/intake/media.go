package intake

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/work"
)

// Media has the files that contents name by upload.
type Media interface {
	// Held is a file that is sent from a time on, and is kept until then. An error of code not_found says that there is none.
	Held(ctx context.Context, tenant, id string, from time.Time) (work.Media, error)
}

// hold sees to it that the files which a content names are there when they are sent, and fills in what they are.
func (in *Intake) hold(ctx context.Context, m *posthouse.Message, now time.Time, p *draft.Problems) error {
	if !slices.ContainsFunc(m.Content.Media, func(f posthouse.Media) bool { return f.Upload != "" }) {
		return nil
	}
	m.Content.Media = slices.Clone(m.Content.Media) // they are the draft's
	for i := range m.Content.Media {
		f := &m.Content.Media[i]
		if f.Upload == "" {
			continue
		}
		if in.o.Media == nil {
			p.Add(fmt.Sprintf("content.media[%d].upload", i), "names a file: none are kept here")
			continue
		}
		held, err := in.o.Media.Held(ctx, m.Tenant, f.Upload, later(now, m.NotBefore))
		if posthouse.CodeOf(err) == posthouse.CodeNotFound {
			p.Add(fmt.Sprintf("content.media[%d].upload", i), "is %.80q: there is no such file, or its time is over", f.Upload)
			continue
		}
		if err != nil {
			return err
		}
		f.Size, f.Type = held.Size, held.Type
	}
	return nil
}
