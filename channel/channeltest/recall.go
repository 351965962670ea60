package channeltest

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// Recall is a message that a provider takes back.
type Recall struct {
	// Ref is the Result.Ref of the call that sent it.
	Ref string
	// Accept answers a recall as the provider does on success. Defaults to the Case's.
	Accept http.HandlerFunc
}

// recalls breaks the provider while it is asked to take messages back: what a driver says of that is what surely happened, each call reaches
// the provider at most once, and asked again it answers the same.
func (c Case) recalls(t *testing.T) {
	for _, r := range c.Recalls {
		if r.Accept != nil {
			c.Accept = r.Accept
		}
		t.Run(r.Ref, func(t *testing.T) {
			t.Run("accepted", func(t *testing.T) { c.takesBack(t, r.Ref) })
			for _, b := range zoo() {
				t.Run(b.name, func(t *testing.T) { c.meetsRecall(t, r.Ref, b) })
			}
			t.Run("refused connection", func(t *testing.T) {
				did, result := c.recaller(t, nobody, 0).Recall(t.Context(), r.Ref, lately())
				c.check(t, result)
				c.wantClass(t, "refused connection", result, transient)
				c.wantRecalled(t, did, result)
			})
			t.Run("cancelled", func(t *testing.T) {
				p := c.provider(t)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				did, result := c.recaller(t, p.URL, 0).Recall(ctx, r.Ref, lately())
				c.check(t, result)
				c.wantRecalled(t, did, result)
				if n := len(p.Arrivals()); n != 0 || did == channel.RecallDone {
					t.Errorf("%s, and %d requests arrived; want none", did, n)
				}
			})
			t.Run("echoed secrets", func(t *testing.T) {
				p := c.provider(t)
				p.Answer(func(w http.ResponseWriter, r *http.Request) {
					fmt.Fprintf(w, "%s %s\n", r.Method, r.RequestURI)
					r.Header.Write(w)
					for _, secret := range c.Secrets {
						fmt.Fprintf(w, "%s %s\n", secret, html.EscapeString(secret))
					}
				})
				_, result := c.recaller(t, p.URL, 0).Recall(t.Context(), r.Ref, lately())
				c.check(t, result)
			})
		})
	}
	t.Run("a reference of another provider's", func(t *testing.T) {
		for _, ref := range []string{"", "../../elsewhere", "a?b=c#d", "x\r\nX-Injected: yes\x00\xff"} {
			p := c.provider(t)
			_, result := c.recaller(t, p.URL, 0).Recall(t.Context(), ref, lately())
			c.check(t, result)
			for _, a := range p.Arrivals() {
				if a.Header.Get("X-Injected") != "" || strings.HasSuffix(a.Target, "/elsewhere") {
					t.Errorf("the reference %q leads to %s %s", ref, a.Method, a.Target)
				}
			}
		}
	})
}

// takesBack asks twice.
func (c Case) takesBack(t *testing.T, ref string) {
	t.Helper()
	p := c.provider(t)
	d := c.recaller(t, p.URL, 0)
	for n := range 2 {
		did, result := d.Recall(t.Context(), ref, lately())
		c.check(t, result)
		if did != channel.RecallDone || result.Class != posthouse.ClassOK || len(p.Arrivals()) != n+1 {
			t.Errorf("call %d: %s, %+v, and %d requests arrived; want %s", n+1, did, result, len(p.Arrivals()), channel.RecallDone)
		}
	}
}

// meetsRecall asks a provider that behaves so. As in meet, a time-out that passed before the request had left is doubled.
func (c Case) meetsRecall(t *testing.T, ref string, b behaviour) {
	t.Helper()
	for timeout := b.timeout; ; timeout *= 2 {
		p := c.provider(t)
		p.Answer(b.serve(p))
		did, result := c.recaller(t, p.URL, timeout).Recall(t.Context(), ref, lately())
		if b.timeout != 0 && len(p.Arrivals()) == 0 && timeout <= 10*time.Second {
			continue
		}
		c.check(t, result)
		c.wantClass(t, b.name, result, b.want)
		c.wantRecalled(t, did, result)
		if n := len(p.Arrivals()); n != b.arrivals {
			t.Errorf("%d requests arrived, want %d", n, b.arrivals)
		}
		return
	}
}

// wantRecalled checks that what a driver says of a recall that was not taken follows from the class: unknown is what nobody knows.
func (c Case) wantRecalled(t *testing.T, did channel.Recalled, result channel.Result) {
	t.Helper()
	want := channel.RecallRefused
	if result.Class == posthouse.ClassUnknown {
		want = channel.RecallUnknown
	}
	if did != want {
		t.Errorf("%s by the class %s, want %s", did, result.Class, want)
	}
}

// recaller opens the driver, which takes back.
func (c Case) recaller(t *testing.T, url string, timeout time.Duration) channel.Recaller {
	t.Helper()
	d, ok := c.open(t, url, timeout, private()).(channel.Recaller)
	if !ok {
		t.Fatal("the driver takes nothing back")
	}
	return d
}

// lately is when the message was sent.
func lately() time.Time { return time.Now().Add(-time.Minute) }
