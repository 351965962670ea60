// Package channeltest is the suite that every driver must pass, and the fake provider it runs on.
// It is public, so that drivers kept elsewhere can be held to the same contract:
//
//	func TestContract(t *testing.T) {
//		channeltest.Run(t, channeltest.Case{Type: mydriver.Type(), Config: …, Accept: …})
//	}
//
// The suite breaks the provider in every way a network and a server can break, and checks that
// each Send answers with the class the contract asks for, reaches the provider at most once,
// respects its context and shows no secret. What a provider's own codes mean is for the driver's
// own tests.
package channeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// Case is one driver with a configuration.
type Case struct {
	Type channel.Type
	// Config makes the configuration of a channel whose provider is at a URL such as
	// http://127.0.0.1:40123. Defaults to an empty configuration.
	Config func(url string) map[string]any
	// Egress is the channel's setting of that name, for a provider at a URL. Defaults to none.
	Egress func(url string) *posthouse.Egress
	// Offline is set for a driver that calls nobody: no provider is broken for it.
	Offline bool
	// Address makes a recipient's address. Defaults to a phone number.
	Address func(url string) string
	// Same are other ways to write the address of Address: the channel keeps all of them as one. Defaults to none.
	Same []string
	// Content is what is sent. Defaults to a title and a text.
	Content posthouse.Content
	// Accept answers a request as the provider does on success. Defaults to 200 and {}.
	Accept http.HandlerFunc
	// Aside answers calls that send nothing, such as fetching a token, and reports whether the
	// request was one. They do not count as arrivals. Defaults to none.
	Aside func(w http.ResponseWriter, r *http.Request) bool
	// Classes overrides the class wanted of a behaviour, by the subtest's name, where the provider's
	// documents say so; any wait goes with it. Defaults to none.
	Classes map[string]posthouse.Class
	// Secrets lists the secrets in Config, which no result may show.
	Secrets []string
	// Recalls are messages that the provider takes back, of a driver that is a [channel.Recaller]. Defaults to none: it is not asked.
	Recalls []Recall
}

// Run runs the suite. It counts goroutines, so the test that calls it must not be parallel.
func Run(t *testing.T, c Case) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Run("describes itself", c.describes)
	t.Run("configuration", c.configuration)
	t.Run("everybody", c.everybody)
	if c.Type.Address != nil {
		t.Run("addresses", c.addresses)
	}
	if c.Type.Pull {
		t.Run("never sends", c.neverSends)
	} else {
		t.Run("accepted", c.accepted)
		t.Run("batch", c.batch)
	}
	if !c.Offline {
		t.Run("zoo", c.zoo)
		t.Run("not sent", c.notSent)
		t.Run("reused connection", c.reused)
		t.Run("cancelled", c.cancelled)
		t.Run("forbidden network", c.forbidden)
		t.Run("forbidden host", c.elsewhere)
		t.Run("forgotten answers", c.forgets)
		t.Run("echoed secrets", c.echoed)
		t.Run("control characters", c.controls)
		if len(c.Recalls) > 0 {
			t.Run("recall", c.recalls)
		}
	}
	err := goleak.Find(before)
	for end := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(end); { // a connection closes when its turn comes
		err = goleak.Find(before)
	}
	if err != nil {
		t.Errorf("the driver leaves goroutines behind: %v", err)
	}
}

// describes checks what forms and docs are drawn from. The drivers that ship have all of it in Chinese too, which is
// package builtin's test.
func (c Case) describes(t *testing.T) {
	for name, text := range map[string]string{
		"Name": c.Type.Name, "Title": c.Type.Title, "Doc": c.Type.Doc,
	} {
		if text == "" {
			t.Errorf("the type's %s is empty", name)
		}
	}
	if _, takes := c.open(t, "http://127.0.0.1:1", 0, private()).(channel.Receiver); takes != c.Type.Callbacks {
		t.Errorf("the type's Callbacks is %t, and whether its driver is a Receiver %t", c.Type.Callbacks, takes)
	}
	seen := map[string]bool{}
	for _, f := range c.Type.Fields {
		if f.Name == "" || f.Label == "" {
			t.Errorf("field %q lacks a name or a label: %+v", f.Name, f)
		}
		if seen[f.Name] {
			t.Errorf("field %q stands twice", f.Name)
		}
		seen[f.Name] = true
	}
}

func (c Case) configuration(t *testing.T) {
	raw := c.raw("http://127.0.0.1:1")
	if _, problems := c.Type.Validate(raw); len(problems) > 0 {
		t.Fatalf("the configuration is refused: %+v", problems)
	}
	masked := c.Type.Redact(raw)
	for _, secret := range c.Secrets {
		if strings.Contains(fmt.Sprint(masked), secret) {
			t.Errorf("Redact shows the secret %q", secret)
		}
	}
	if _, problems := c.Type.Validate(c.Type.Keep(raw, masked)); len(problems) > 0 {
		t.Errorf("a configuration that was shown and written back is refused: %+v", problems)
	}
	c.bound(t, raw, masked)
	wrong := maps.Clone(raw)
	wrong["no_such_setting"] = "x"
	_, problems := c.Type.Validate(wrong)
	if len(problems) != 1 || problems[0].Path != "config.no_such_setting" {
		t.Errorf("an unknown setting gives %+v, want one problem at config.no_such_setting", problems)
	}
}

// bound checks that a configuration that was shown and written back with another destination has none of its secrets.
func (c Case) bound(t *testing.T, raw, masked map[string]any) {
	t.Helper()
	other, moved := c.raw("http://127.0.0.1:2"), false
	changed := maps.Clone(masked)
	for _, f := range c.Type.Fields {
		if (f.Kind == channel.KindURL || f.Destination) && fmt.Sprint(raw[f.Name]) != fmt.Sprint(other[f.Name]) {
			changed[f.Name], moved = other[f.Name], true
		}
	}
	if !moved {
		return
	}
	kept := fmt.Sprint(c.Type.Keep(raw, changed))
	for _, secret := range c.Secrets {
		if strings.Contains(kept, secret) {
			t.Errorf("the secret %q is kept for another destination", secret)
		}
	}
}

// addresses checks that what a channel keeps of an address, it takes again as it is.
func (c Case) addresses(t *testing.T) {
	config, _ := c.Type.Validate(c.raw("http://127.0.0.1:1"))
	kept, err := c.Type.Address(config, c.outgoing("http://127.0.0.1:1", 1).Recipient.Address)
	if err != nil || kept == "" {
		t.Fatalf("the case's address is kept as %q, %v", kept, err)
	}
	if again, err := c.Type.Address(config, kept); err != nil || again != kept {
		t.Errorf("%q is kept as %q, %v; want it as it is", kept, again, err)
	}
	for _, other := range c.Same {
		if again, err := c.Type.Address(config, other); err != nil || again != kept {
			t.Errorf("%q is kept as %q, %v; want %q: it is the same recipient", other, again, err, kept)
		}
	}
	for _, text := range []string{"A", "u|1", "party:x", "+86", "@", "HTTPS://", "x@", "＋86 138", "\u202e1", strings.Repeat("a", 300)} {
		kept, err := c.Type.Address(config, text)
		if err != nil {
			continue
		}
		if again, err := c.Type.Address(config, kept); err != nil || again != kept || kept == "" {
			t.Errorf("%q is kept as %q, and that as %q, %v; want it as it is", text, kept, again, err)
		}
	}
}

// everybody holds a driver to what calls everybody: however it is written, it is found before the message is accepted, and what goes to
// one recipient is not taken for it.
func (c Case) everybody(t *testing.T) {
	config, _ := c.Type.Validate(c.raw("http://127.0.0.1:1"))
	one := c.outgoing("http://127.0.0.1:1", 1)
	one.Content.Text += " write to all@example.com, a < b, @all of you, <b>all</b>"
	one.Content.Mentions = []string{"zhangsan", "all.in"}
	if field := c.Type.Everybody(config, one); field != "" {
		t.Errorf("a delivery to one recipient calls everybody by its %s", field)
	}
	names := []string{"@all", "@ALL", "@All ", "＠ａｌｌ", "@a\u200bll", "@everyone", "@所有人", "zhangsan|@all"}
	marks := []string{"<@all>", "see <@ALL> now", "＜＠ａｌｌ＞", "<@a\u200dll>", "<!channel>", `<at user_id="all">all</at>`, "<at id=all></at>", "<users/all>", "@**all**", "＠**Everyone** x"}
	type everyone struct {
		what string
		set  func(*channel.Outgoing)
	}
	list := []everyone{
		{"mention_all", func(o *channel.Outgoing) { o.Content.MentionAll = true }},
		{"isAtAll in extra", func(o *channel.Outgoing) { o.Content.Extra = []byte(`{"at":{"isAtAll":true}}`) }},
		{"an escape in extra", func(o *channel.Outgoing) { o.Content.Extra = []byte(`{"a":["\u0040all"]}`) }},
		{"a mark that begins in the title and ends in the text", func(o *channel.Outgoing) { o.Content.Title, o.Content.Text = "<at", `user_id="all">x</at>` }},
		{"a mention that closes its mark", func(o *channel.Outgoing) { o.Content.Mentions = []string{"x><@all"} }},
	}
	for _, name := range names {
		list = append(list,
			everyone{"the address " + name, func(o *channel.Outgoing) { o.Recipient.Address = name }},
			everyone{"the user " + name, func(o *channel.Outgoing) { o.Recipient = posthouse.Recipient{User: name, Address: o.Recipient.Address} }},
			everyone{"the mention " + name, func(o *channel.Outgoing) { o.Content.Mentions = []string{"zhangsan", name} }},
			everyone{"the extra " + name, func(o *channel.Outgoing) { o.Content.Extra = jsonOf(map[string]any{"list": []any{name}}) }},
			everyone{"the payload " + name, func(o *channel.Outgoing) { o.Payload = jsonOf(map[string]any{"who": name}) }},
		)
	}
	for _, mark := range marks {
		list = append(list,
			everyone{"the title " + mark, func(o *channel.Outgoing) { o.Content.Title = mark }},
			everyone{"the text " + mark, func(o *channel.Outgoing) { o.Content.Text = "a\n" + mark }},
			everyone{"the Markdown " + mark, func(o *channel.Outgoing) { o.Content.Type, o.Content.Text = posthouse.MarkdownContent, "**a** "+mark }},
			everyone{"the payload " + mark, func(o *channel.Outgoing) { o.Payload = jsonOf(map[string]any{"text": mark}) }},
		)
	}
	for _, e := range list {
		out := c.outgoing("http://127.0.0.1:1", 1)
		e.set(&out)
		if c.Type.Everybody(config, out) == "" {
			t.Errorf("%s calls nobody but its recipient", e.what)
		}
	}
}

func jsonOf(v any) []byte {
	text, _ := json.Marshal(v) // plain values: cannot fail
	return text
}

// neverSends holds a driver whose deliveries are fetched to sending nothing, and to not saying that it did.
func (c Case) neverSends(t *testing.T) {
	p := c.provider(t)
	result := c.open(t, p.URL, 0, private()).Send(t.Context(), c.outgoing(p.URL, 1))
	c.check(t, result)
	c.wantClass(t, "never sends", result, append(slices.Clone(blocks), final...))
	if n := len(p.Arrivals()); n != 0 {
		t.Errorf("%d requests arrived, want none", n)
	}
}

func (c Case) accepted(t *testing.T) {
	p := c.provider(t)
	d := c.open(t, p.URL, 0, private())
	result := d.Send(t.Context(), c.outgoing(p.URL, 1))
	c.check(t, result)
	if result.Class != posthouse.ClassOK {
		t.Errorf("class = %q (%s: %s), want ok", result.Class, result.Code, result.Error)
	}
	if n := len(p.Arrivals()); !c.Offline && n != 1 {
		t.Errorf("%d requests arrived, want 1", n)
	}
}

func (c Case) zoo(t *testing.T) {
	for _, b := range zoo() {
		t.Run(b.name, func(t *testing.T) {
			p, result := c.meet(t, b)
			c.check(t, result)
			c.wantClass(t, b.name, result, b.want)
			if b.code != "" && result.Code != b.code {
				t.Errorf("code = %q, want %q", result.Code, b.code)
			}
			if _, own := c.Classes[b.name]; !own && (result.After < b.after[0] || result.After > b.after[1]) {
				t.Errorf("after = %s, want %s to %s", result.After, b.after[0], b.after[1])
			}
			if n := len(p.Arrivals()); n != b.arrivals {
				t.Errorf("%d requests arrived, want %d", n, b.arrivals)
			}
		})
	}
}

// meet sends one delivery to a provider that behaves so. Where the time-out is part of the
// behaviour and passed before the request had left, on a busy machine, it allows twice the time.
func (c Case) meet(t *testing.T, b behaviour) (*Provider, channel.Result) {
	t.Helper()
	for timeout := b.timeout; ; timeout *= 2 {
		p := c.provider(t)
		p.Answer(b.serve(p))
		result := c.open(t, p.URL, timeout, private()).Send(t.Context(), c.outgoing(p.URL, 1))
		if b.timeout == 0 || len(p.Arrivals()) > 0 || timeout > 10*time.Second {
			return p, result
		}
	}
}

// notSent are the failures before a byte leaves: surely not accepted.
func (c Case) notSent(t *testing.T) {
	either := []posthouse.Class{posthouse.ClassTransient, posthouse.ClassUnknown}
	for name, is := range map[string]struct {
		url  string
		want []posthouse.Class
	}{
		"refused connection":    {nobody, transient},
		"untrusted certificate": {stranger(t).URL, transient},
		"reset connection":      {brusque(t), either},
	} {
		t.Run(name, func(t *testing.T) {
			result := c.open(t, is.url, 0, private()).Send(t.Context(), c.outgoing(is.url, 1))
			c.check(t, result)
			c.wantClass(t, name, result, is.want)
			if result.Code != channel.CodeNetwork {
				t.Errorf("code = %q, want %q", result.Code, channel.CodeNetwork)
			}
		})
	}
}

// reused sends twice on one connection, which the provider closes after it has read the second
// request: a transport that repeats by itself would make a third arrival.
func (c Case) reused(t *testing.T) {
	for range 20 { // net/http takes a new connection where it was slow to see that the old one is free
		p := c.provider(t)
		d := c.open(t, p.URL, 0, private())
		d.Send(t.Context(), c.outgoing(p.URL, 1))
		p.Answer(hijack(func(*net.TCPConn) {})(p))
		result := d.Send(t.Context(), c.outgoing(p.URL, 2))
		c.wantClass(t, "reused connection", result, unknown)
		arrivals := p.Arrivals()
		if n := len(arrivals); n != 2 {
			t.Fatalf("%d requests arrived of two sends, want 2", n)
		}
		if arrivals[0].From == arrivals[1].From {
			return
		}
	}
	t.Error("in 20 rounds no connection was used again: nothing is proved")
}

func (c Case) cancelled(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		p := c.provider(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		result := c.open(t, p.URL, 0, private()).Send(ctx, c.outgoing(p.URL, 1))
		c.check(t, result)
		c.wantClass(t, "before", result, transient)
		if n := len(p.Arrivals()); n != 0 {
			t.Errorf("%d requests arrived, want none", n)
		}
	})
	t.Run("during", func(t *testing.T) {
		p := c.provider(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p.Answer(hang(func(http.ResponseWriter) { cancel() })(p))
		result := c.open(t, p.URL, time.Hour, private()).Send(ctx, c.outgoing(p.URL, 1))
		c.check(t, result)
		c.wantClass(t, "during", result, unknown)
	})
}

// forbidden opens the driver with a network of public addresses only.
func (c Case) forbidden(t *testing.T) {
	p := c.provider(t)
	result := c.open(t, p.URL, 0, channel.Network{}).Send(t.Context(), c.outgoing(p.URL, 1))
	c.check(t, result)
	c.wantClass(t, "forbidden network", result, append(slices.Clone(forbade), final...))
	if n := len(p.Arrivals()); n != 0 {
		t.Errorf("%d requests arrived, want none", n)
	}
}

// elsewhere opens the driver for a channel that may call another provider only.
func (c Case) elsewhere(t *testing.T) {
	p := c.provider(t)
	env := c.env(t, "http://127.0.0.1:1", 0, private())
	result := c.openIn(t, p.URL, env).Send(t.Context(), c.outgoing(p.URL, 1))
	c.check(t, result)
	c.wantClass(t, "forbidden network", result, append(slices.Clone(forbade), final...))
	if n := len(p.Arrivals()); n != 0 {
		t.Errorf("%d requests arrived, want none", n)
	}
}

// forgets opens the driver for a channel that keeps no answers.
func (c Case) forgets(t *testing.T) {
	const inner = "inner-71c2-secrets"
	for _, status := range []int{200, 400, 500} {
		p := c.provider(t)
		p.Answer(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"%[1]s":"%[1]s"} %[1]s`, inner)
		})
		env := c.env(t, p.URL, 0, private())
		env.KeepAnswers = false
		if r := c.openIn(t, p.URL, env).Send(t.Context(), c.outgoing(p.URL, 1)); strings.Contains(r.Response, inner) {
			t.Errorf("HTTP %d: the result shows the answer: %+v", status, r)
		}
	}
}

// echoed answers with all that was sent, and with the secrets as it would write them itself.
func (c Case) echoed(t *testing.T) {
	for _, status := range []int{200, 400, 500} {
		p := c.provider(t)
		p.Answer(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			arrivals := p.Arrivals()
			last := arrivals[len(arrivals)-1]
			fmt.Fprintf(w, "%s %s\n", last.Method, last.Target)
			last.Header.Write(w)
			w.Write(last.Body)
			for _, secret := range c.Secrets {
				fmt.Fprintf(w, "%s %s %s\n", secret, html.EscapeString(secret), named.Replace(secret))
			}
		})
		c.check(t, c.open(t, p.URL, 0, private()).Send(t.Context(), c.outgoing(p.URL, 1)))
	}
}

// named writes XML with the names of all that is special.
var named = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")

// controls puts a line break and a header into every text of a message.
func (c Case) controls(t *testing.T) {
	const bad = "x\r\nX-Injected: yes\r\n\r\n\x00\x1b[31m\xff"
	p := c.provider(t)
	d := c.open(t, p.URL, 0, private())
	out := c.outgoing(p.URL, 1)
	out.Content = posthouse.Content{Title: bad, Text: bad}
	out.Kind, out.Ref, out.Template, out.Recipient.User, out.Recipient.Type = bad, bad, bad, bad, bad
	c.check(t, d.Send(t.Context(), out))
	out.Recipient.Address = bad
	out.IdemKey = bad
	c.check(t, d.Send(t.Context(), out))
	for _, a := range p.Arrivals() {
		if a.Header.Get("X-Injected") != "" {
			t.Errorf("a text became a header: %v", a.Header)
		}
	}
}

// batch checks that each delivery gets a result, whatever the answer.
func (c Case) batch(t *testing.T) {
	p := c.provider(t)
	d := c.open(t, p.URL, 0, private())
	many, ok := d.(channel.BatchDriver)
	size := c.size(t, p.URL)
	if size > 1 && !ok {
		t.Fatalf("the type has a batch of %d, but the driver has no SendBatch", size)
	}
	if !ok || size < 2 {
		return
	}
	outs := make([]channel.Outgoing, min(size, 5))
	for i := range outs {
		outs[i] = c.outgoing(p.URL, i+1)
	}
	for _, is := range []struct {
		name   string
		answer http.HandlerFunc
		want   []posthouse.Class
	}{
		{"accepted", c.accept(), []posthouse.Class{posthouse.ClassOK}},
		{"batch, 200 with rubbish", Reply(200, "?"), unknown},
		{"HTTP 500", Reply(500, ""), unknown},
		{"HTTP 400", Reply(400, ""), final},
	} {
		if c.Offline && is.name != "accepted" {
			continue
		}
		p.Answer(is.answer)
		results := many.SendBatch(t.Context(), outs)
		if len(results) != len(outs) {
			t.Fatalf("%s: %d results for %d deliveries", is.name, len(results), len(outs))
		}
		for _, r := range results {
			c.check(t, r)
			c.wantClass(t, is.name, r, is.want)
		}
	}
	c.shared(t, p, many, outs)
}

// shared checks that a call of several messages which say the same is the call of one of them.
func (c Case) shared(t *testing.T, p *Provider, many channel.BatchDriver, outs []channel.Outgoing) {
	if c.Type.Shares == nil {
		return
	}
	p.Answer(c.accept())
	before := len(p.Arrivals())
	many.SendBatch(t.Context(), outs)
	for i := range outs {
		outs[i].Message, outs[i].Kind, outs[i].Ref, outs[i].Priority = posthouse.NewID(), "another", strconv.Itoa(i), posthouse.Low
		if !c.Type.Shares(outs[i].Content, outs[i].Recipient.Address) {
			t.Errorf("a delivery to %q may share no call", outs[i].Recipient.Address)
		}
	}
	many.SendBatch(t.Context(), outs)
	arrived := p.Arrivals()[before:]
	if len(arrived) != 2 || !bytes.Equal(arrived[0].Body, arrived[1].Body) {
		t.Errorf("%d calls arrived, want two with the same body: of one message, and of several that say the same", len(arrived))
	}
}
