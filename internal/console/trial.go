package console

import (
	"context"
	"errors"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// tried is what became of a test, and what was sent.
type tried struct {
	wire.ChannelTest
	wire.ChannelTested
	Problems []posthouse.Problem // why nothing was sent
}

// testChannel sends a test, or without an address asks whether the provider can be reached, and shows how it answered.
func testChannel(v *visit) error {
	l, err := v.lineOf(v.r.PathValue("name"))
	if err != nil {
		return err
	}
	l.Tried, err = v.try(func(ctx context.Context, in wire.ChannelTest) (wire.ChannelTested, error) {
		return v.call().Channels.Test(ctx, l.Name, in)
	})
	if err != nil {
		return err
	}
	return v.draw(l.Tried.status(), "channel", "channels", l)
}

// try tests as the form says. What the API refuses of the form is shown beside it, with what was entered.
func (v *visit) try(test func(context.Context, wire.ChannelTest) (wire.ChannelTested, error)) (*tried, error) {
	t := &tried{ChannelTest: testFrom(v)}
	var err error
	t.ChannelTested, err = test(withNote(v.ctx(), v.form("note")), t.ChannelTest)
	var coded *posthouse.Error
	switch {
	case !errors.As(err, &coded):
		return t, err
	case coded.Code == posthouse.CodeForbidden: // by the address: who may not test at all has no form
		t.Problems = problemAt("to", coded.Message)
		return t, nil
	case coded.Code != posthouse.CodeInvalid:
		return t, err
	}
	for _, p := range coded.Problems {
		if p.Path == "to" && t.To.Address == "" {
			p.Message = say("test_needs_to", v.zh)
		}
		t.Problems = append(t.Problems, p)
	}
	return t, nil
}

// status is of the page that shows what became of a test.
func (t *tried) status() int {
	if t.refused() {
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// refused reports whether nothing was sent: the form may come again.
func (t *tried) refused() bool { return len(t.Problems) > 0 }

// testFrom is a test as the form says it.
func testFrom(v *visit) wire.ChannelTest {
	in := wire.ChannelTest{To: posthouse.Recipient{Address: v.form("to")}}
	if text := v.form("text"); text != "" {
		in.Content = posthouse.Content{Title: v.form("title"), Text: text}
	}
	return in
}
