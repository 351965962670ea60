package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
)

// sharing is a channel whose driver takes deliveries of several messages in one call, and refuses the user "bad".
func (r *rig) sharing(settings posthouse.ChannelSettings, most int) *batching {
	b := &batching{provider: r.provider}
	r.provider.answer = func(out channel.Outgoing) channel.Result { return toOne(out) }
	r.open("c", settings, state.Opened{
		Driver: each{b}, MaxBatch: most, Window: channel.Forever, Shares: func(_ posthouse.Content, address string) bool { return !strings.HasPrefix(address, "@") },
	})
	r.pause("c")
	return b
}

// each is batching with a result for each recipient.
type each struct{ *batching }

func (e each) SendBatch(ctx context.Context, outs []channel.Outgoing) []channel.Result {
	results := e.batching.SendBatch(ctx, outs)
	for i := range results {
		results[i] = toOne(outs[i])
	}
	return results
}

func (e each) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	return e.SendBatch(ctx, []channel.Outgoing{out})[0]
}

func toOne(out channel.Outgoing) channel.Result {
	if out.Recipient.User == "bad" {
		return channel.Result{Class: posthouse.ClassRecipient, Code: "invaliduser"}
	}
	return channel.Result{Class: posthouse.ClassOK, Ref: "of " + out.Recipient.User}
}

// callsOf are the users of each call, in the order of their messages.
func callsOf(b *batching) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []string
	for _, outs := range b.calls {
		var users []string
		for _, out := range outs {
			users = append(users, out.Recipient.User)
		}
		list = append(list, strings.Join(users, " "))
	}
	slices.Sort(list)
	return list
}

// FLEET-6: messages that say the same share a call, and each has a result of its own. Who is told the same twice is told twice,
// and what reaches more than one member goes by itself.
func TestMessagesThatSayTheSameShareACall(t *testing.T) {
	virtual(t, func(r *rig) {
		b := r.sharing(posthouse.ChannelSettings{}, 100)
		ids := map[string]string{}
		send := func(words, user string, change ...func(*posthouse.Draft)) {
			d := text("c", user)
			d.Content = &posthouse.Content{Text: words}
			for _, do := range change {
				do(&d)
			}
			ids[fmt.Sprint(words, " ", user, " ", len(ids))] = r.send(d)[0]
		}
		for _, user := range []string{"a", "bad", "c", "a", "@all"} {
			send("same", user)
		}
		send("other", "d")
		send("same", "e", func(d *posthouse.Draft) { d.Content.Title = "with a title" })
		send("same", "f", func(d *posthouse.Draft) { d.Sensitive = true })
		r.resume("c")
		r.pass(time.Second)
		want := []string{"@all", "a", "a bad c", "d", "e", "f"}
		if got := callsOf(b); !slices.Equal(got, want) {
			r.Errorf("called %q, want %q", got, want)
		}
		for what, id := range ids {
			d := r.get(id)
			if bad := strings.Contains(what, "bad"); bad != (d.State == posthouse.Failed) || !bad && (d.State != posthouse.Sent || d.ProviderRef != "of "+d.User) {
				r.Errorf("%s is %s, of the provider's %q", what, d.State, d.ProviderRef)
			}
		}
	})
}

// FLEET-6: a call takes as many messages as suits their type, a message of many recipients goes whole, and what may have arrived
// is repeated as it was.
func TestASharedCallHasBounds(t *testing.T) {
	virtual(t, func(r *rig) {
		b := r.sharing(posthouse.ChannelSettings{}, 100)
		for i := range 120 {
			r.send(text("c", fmt.Sprint(i)))
		}
		var many []string
		for i := range 90 {
			many = append(many, fmt.Sprint("m", i))
		}
		r.send(text("c", many...))
		r.resume("c")
		r.pass(time.Second)
		var sizes []int
		for _, outs := range b.calls {
			sizes = append(sizes, len(outs))
		}
		slices.Sort(sizes)
		if !slices.Equal(sizes, []int{20, 50, 50, 90}) {
			r.Errorf("calls of %v recipients", sizes)
		}
	})
}

// What may have arrived is repeated alone, since its provider knows the call again by what it was.
func TestWhatMayHaveArrivedSharesNoCall(t *testing.T) {
	virtual(t, func(r *rig) {
		b := r.sharing(posthouse.ChannelSettings{OnUnknown: posthouse.Retry, Tries: 2}, 100)
		b.class = posthouse.ClassUnknown
		r.open("c", posthouse.ChannelSettings{OnUnknown: posthouse.Retry, Tries: 2}, state.Opened{
			Driver: b, MaxBatch: 100, Window: channel.Forever, Shares: func(posthouse.Content, string) bool { return true },
		})
		r.pause("c")
		for i := range 3 {
			r.send(text("c", fmt.Sprint(i)))
		}
		r.resume("c")
		r.pass(time.Hour)
		if got, want := callsOf(b), []string{"0 1 2"}; !slices.Equal(got, want) {
			r.Errorf("shared calls %q, want %q", got, want)
		}
		if n := len(r.provider.sent()); n != 3 {
			r.Errorf("%d calls of one, want the three repeats", n)
		}
	})
}
