package read

import (
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/render"
	"github.com/posthouse/posthouse/wire"
)

// Filler says what a message with a template would read like.
type Filler interface {
	Fill(t posthouse.Template, payload json.RawMessage, clock *posthouse.Clock, at time.Time) (posthouse.Content, json.RawMessage, []posthouse.Problem)
}

// Preview fills a template twice: as it is for the problems, and leniently for what can be shown.
func Preview(f Filler, t posthouse.Template, payload json.RawMessage, clock *posthouse.Clock) wire.Previewed {
	now := time.Time{}
	v := wire.Previewed{Variables: content.Variables(t), Language: t.Language, ExternalID: t.ExternalID, Disabled: t.Disabled, Warnings: []posthouse.Problem{}}
	v.Content, v.Payload, v.Problems = f.Fill(t, payload, clock, now)
	if len(v.Problems) > 0 {
		t.Lenient = true
		v.Content, _, _ = f.Fill(t, payload, clock, now)
	}
	v.Leaves, _ = content.Prepare(t).Leaves(v.Payload, nil)
	v.Problems = notNil(v.Problems)
	v.Title, v.Text = wire.Lengths(render.Length(v.Content.Title)), wire.Lengths(render.Length(v.Content.Text))
	return v
}
