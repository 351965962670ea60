package email_test

import (
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
)

func TestTheSimulatorTakesMail(t *testing.T) {
	sim := simulator.New(simulator.Options{Log: slog.New(slog.DiscardHandler)})
	at, err := sim.StartMail(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sim.Stop(t.Context()) })
	host, port, _ := net.SplitHostPort(at)
	number, _ := strconv.Atoi(port)
	d := driver(t, map[string]any{"host": host, "port": number, "from": "desk@example.com", "tls": "opportunistic"})
	for _, c := range []struct {
		to   string
		want []posthouse.Class
	}{
		{"li.na@example.org", []posthouse.Class{posthouse.ClassOK}},
		{"fail-recipient@example.org", []posthouse.Class{posthouse.ClassRecipient}},
		{"refuse-content@example.org", []posthouse.Class{posthouse.ClassContent}},
		{"busy-twice@example.org", []posthouse.Class{posthouse.ClassTransient, posthouse.ClassTransient, posthouse.ClassOK}},
		{"too-fast@example.org", []posthouse.Class{posthouse.ClassRate, posthouse.ClassOK}},
		{"server-error@example.org", []posthouse.Class{posthouse.ClassTransient}},
		{"cut-before@example.org", []posthouse.Class{posthouse.ClassUnknown, posthouse.ClassOK}},
		{"lost-answer@example.org", []posthouse.Class{posthouse.ClassUnknown, posthouse.ClassOK}},
		{"garbage@example.org", []posthouse.Class{posthouse.ClassUnknown, posthouse.ClassOK}},
	} {
		out := outgoing(len(c.to), posthouse.Content{Text: "**今天**由您值班", Type: posthouse.MarkdownContent})
		out.Recipient.Address = c.to
		out.IdemKey = strings.ReplaceAll(c.to, "@", "-at-")
		for try, want := range c.want {
			if r := d.Send(t.Context(), out); r.Class != want {
				t.Errorf("%s, attempt %d: class %q (%s: %s), want %q", c.to, try+1, r.Class, r.Code, r.Error, want)
			}
		}
	}
	all := sim.Arrivals(simulator.Filter{})
	if len(all) == 0 || all[0].User != "li.na@example.org" || all[0].Title != "值班提醒" || all[0].Text != "**今天**由您值班" || all[0].Key != "li.na-at-example.org@example.com" {
		t.Errorf("got %+v", all[:min(1, len(all))])
	}
}
