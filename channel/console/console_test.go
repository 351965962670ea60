package console_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/console"
)

func TestContract(t *testing.T) {
	channeltest.Run(t, channeltest.Case{Type: console.Type(), Offline: true})
}

func Example() {
	config, _ := console.Type().Validate(nil)
	driver, _ := console.Type().Open(config, channel.Env{Output: os.Stdout})
	driver.Send(context.Background(), channel.Outgoing{
		Channel:   "ops",
		Recipient: posthouse.Recipient{Address: "张三"},
		Content:   posthouse.Content{Title: "值班提醒", Text: "two\nlines"},
	})
	// Output: ops -> 张三: "值班提醒" "two\nlines"
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestControlCharactersAreEscaped(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	d, _ := console.Type().Open(channel.Config{}, channel.Env{Output: &out})
	d.Send(t.Context(), channel.Outgoing{
		Channel: "c", Recipient: posthouse.Recipient{Address: "a\x1b[2J\n"}, Content: posthouse.Content{Text: "\x1b]0;x\a\r\n\u2028"},
	})
	want := `c -> "a\x1b[2J\n": "\x1b]0;x\a\r\n\u2028"` + "\n"
	if got := out.String(); got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestOutputThatFails(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]struct {
		n    int
		want posthouse.Class
	}{
		"before anything was written": {0, posthouse.ClassTransient},
		"in the middle of the line":   {3, posthouse.ClassUnknown},
	} {
		fails := writer(func([]byte) (int, error) { return is.n, errors.New("broken pipe") })
		d, _ := console.Type().Open(channel.Config{}, channel.Env{Output: fails})
		if got := d.Send(t.Context(), channel.Outgoing{}); got.Class != is.want {
			t.Errorf("%s: class = %q, want %q", name, got.Class, is.want)
		}
	}
}
