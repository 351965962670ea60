package console

import (
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// tried is what became of a test.
type tried struct {
	To string
	wire.ChannelTested
}

// testChannel sends a test, or without an address asks whether the provider can be reached, and shows how it answered.
func testChannel(v *visit) error {
	l, err := v.lineOf(v.r.PathValue("name"))
	if err != nil {
		return err
	}
	in := testFrom(v)
	got, err := v.call().Channels.Test(withNote(v.ctx(), v.form("note")), l.Name, in)
	if err != nil {
		return err
	}
	l.Tried = &tried{in.To.Address, got}
	return v.show("channel", "channels", l)
}

// testFrom is a test as the form says it.
func testFrom(v *visit) wire.ChannelTest {
	in := wire.ChannelTest{To: posthouse.Recipient{Address: v.form("to")}}
	if text := v.form("text"); text != "" {
		in.Content = posthouse.Content{Title: v.form("title"), Text: text}
	}
	return in
}
