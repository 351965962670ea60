// Package console is the driver that prints: one line a delivery, for trying things out and for
// servers whose output somebody reads. It reaches nobody.
package console

import (
	"context"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// Type describes the driver.
func Type() channel.Type {
	return channel.Type{
		Name:  "console",
		Title: "Console", TitleZH: "控制台输出",
		Doc:   "Prints each message as one line instead of sending it.",
		DocZH: "把每条消息打印成一行，不真正发送。",
		Open: func(_ channel.Config, env channel.Env) (channel.Driver, error) {
			out := env.Output
			if out == nil {
				out = os.Stdout
			}
			return &driver{out: out}, nil
		},
	}
}

type driver struct {
	mu  sync.Mutex
	out io.Writer
}

// Send prints one line. Control characters are escaped, so that a text can neither break the line
// nor command the terminal.
func (d *driver) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	if err := ctx.Err(); err != nil {
		return channel.Result{Class: posthouse.ClassTransient, Code: channel.CodeCancelled, Error: "the call was given up"}
	}
	line := format(out)
	d.mu.Lock()
	n, err := d.out.Write(line)
	d.mu.Unlock()
	switch {
	case err == nil:
		return channel.Result{Class: posthouse.ClassOK}
	case n == 0:
		return channel.Result{Class: posthouse.ClassTransient, Code: "OUTPUT_ERROR", Error: "the output cannot be written"}
	}
	return channel.Result{Class: posthouse.ClassUnknown, Code: "OUTPUT_ERROR", Error: "the output was written in part"}
}

// format writes: channel -> recipient: "title" "text".
func format(out channel.Outgoing) []byte {
	b := append([]byte(nil), word(out.Channel)...)
	b = append(append(b, " -> "...), word(out.Recipient.Address)...)
	b = append(b, ':')
	if out.Content.Title != "" {
		b = strconv.AppendQuote(append(b, ' '), out.Content.Title)
	}
	b = strconv.AppendQuote(append(b, ' '), out.Content.Text)
	return append(b, '\n')
}

// word is a name as it is, quoted only where it holds something that needs it.
func word(s string) string {
	quoted := strconv.Quote(s)
	if quoted[1:len(quoted)-1] == s {
		return s
	}
	return quoted
}
