package email_test

import (
	"bufio"
	"net"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// The commands are those of RFC 5321: addresses stand in angle brackets, and nothing is asked for that the mail does not need. Most servers
// forgive the first, and some do not.
func TestTheCommandsAreThoseOfTheStandard(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	commands := make(chan string, 20)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		say := func(text string) { _, _ = c.Write([]byte(text + "\r\n")) }
		say("220 here")
		data := false
		for lines := bufio.NewScanner(c); lines.Scan(); {
			line := lines.Text()
			switch {
			case data && line != ".":
			case data:
				data = false
				say("250 taken")
			case strings.HasPrefix(line, "EHLO"):
				say("250-here\r\n250-8BITMIME\r\n250 SMTPUTF8")
			case line == "DATA":
				data = true
				say("354 go on")
			default:
				commands <- line
				say("250 ok")
			}
		}
	}()
	d := driver(t, map[string]any{"host": "127.0.0.1", "port": l.Addr().(*net.TCPAddr).Port, "tls": "opportunistic", "from": "Duty Desk <desk@example.com>"})
	if r := d.Send(t.Context(), outgoing(1, posthouse.Content{})); r.Class != posthouse.ClassOK {
		t.Fatalf("got %+v", r)
	}
	for _, want := range []string{"MAIL FROM:<desk@example.com> BODY=8BITMIME", "RCPT TO:<li.na@example.org>"} {
		if got := <-commands; got != want {
			t.Errorf("the command is %q, want %q", got, want)
		}
	}
}
