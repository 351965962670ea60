package dingtalk

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/errcode"
	"github.com/posthouse/posthouse/internal/render"
)

// Fit says whether a title would be cut.
func (g *gateway) Fit(c posthouse.Content) []posthouse.Problem {
	n := render.Length(c.Title).In(g.unit)
	if n <= g.longest {
		return nil
	}
	return []posthouse.Problem{{Path: "title", Message: fmt.Sprintf("is %d long: the gateway takes %d, and %q is what is left of it", n, g.longest, render.Cut(c.Title, g.longest, g.unit))}}
}

// Fit says whether a post would be too long, as far as that does not depend on who is mentioned.
func (r *robot) Fit(c posthouse.Content) []posthouse.Problem {
	return tooLong(len(errcode.Encoded(r.post([]channel.Outgoing{{Content: c}}))), robotBytes)
}

// Fit says whether a message would be too long. The bounds of a card are those of its variables, which are checked before.
func (w *work) Fit(c posthouse.Content) []posthouse.Problem {
	if c.Kind() == posthouse.TemplateContent {
		return nil
	}
	return tooLong(len(errcode.Encoded(w.message(c, time.Now()))), workBytes)
}

func tooLong(n, most int) []posthouse.Problem {
	if n <= most {
		return nil
	}
	return []posthouse.Problem{{Path: "content", Message: fmt.Sprintf("has %d bytes as JSON: DingTalk takes %d, and a message that is longer fails", n, most)}}
}
