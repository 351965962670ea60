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
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/wire"
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
	hours(t)
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

// sharers opens a channel whose messages share calls, by so many accounts, each of which may make 5 calls a second; 0 is one without a
// name and without a limit.
func (r *rig) sharers(accounts int) *batching {
	b := &batching{provider: r.provider}
	o := state.Opened{Driver: each{b}, MaxBatch: 1000, Window: channel.Forever, Shares: func(posthouse.Content, string) bool { return true }}
	settings := posthouse.ChannelSettings{Accounts: accounts > 0, LimitBy: posthouse.LimitByCalls}
	for i := range accounts {
		o.Accounts = append(o.Accounts, by(fmt.Sprintf("a%02d", i), each{b}, per(5, time.Second)))
	}
	r.senders = admission.Senders{Min: 4, Max: 256}
	r.stop()
	r.restart()
	r.open("c", settings, o)
	r.pause("c")
	return b
}

// sizes are how many recipients the calls had, the largest first.
func (b *batching) sizes() (list []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, outs := range b.calls {
		list = append(list, len(outs))
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// unsent counts the deliveries that are not sent.
func (r *rig) unsent(ids []string) (n int) {
	for _, id := range ids {
		if r.get(id).State != posthouse.Sent {
			n++
		}
	}
	return n
}

// given counts the deliveries that were given back for want of a call.
func (r *rig) given(ids []string) (n int) {
	for _, id := range ids {
		n += strings.Count(r.history(id), string(posthouse.EventRelease))
	}
	return n
}

// FLEET-6: messages that say the same fill the calls that there are, however few those are and by however many accounts.
func TestCallsAreFilled(t *testing.T) {
	hours(t)
	for _, accounts := range []int{0, 1, 4} {
		t.Run(fmt.Sprint(accounts, " accounts"), func(t *testing.T) {
			virtual(t, func(r *rig) {
				b := r.sharers(accounts)
				const n = 1000
				var ids []string
				for i := range n {
					ids = append(ids, r.send(text("c", fmt.Sprint("u", i)))...)
				}
				r.resume("c")
				r.pass(30 * time.Second)
				sizes := b.sizes()
				if len(sizes) > 2*n/50 || sizes[len(sizes)/4] != 50 {
					r.Errorf("%d calls for %d messages that say the same, want most of them of 50: %v", len(sizes), n, sizes)
				}
				if left := r.unsent(ids); left != 0 {
					r.Errorf("%d are not sent", left)
				}
				if back := r.given(ids); back != 0 {
					r.Errorf("%d were claimed in vain", back)
				}
			})
		})
	}
}

// FLEET-6: notices that take turns in the queue fill their calls too, and hold none of them up.
func TestNoticesThatTakeTurnsFillTheirCalls(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		b := r.sharers(1)
		const n, notices = 1200, 8
		var ids []string
		for i := range n {
			d := text("c", fmt.Sprint("u", i))
			d.Content.Text = fmt.Sprint("notice ", i%notices)
			ids = append(ids, r.send(d)...)
		}
		r.resume("c")
		r.pass(30 * time.Second)
		sizes := b.sizes()
		if len(sizes) > n/8 {
			r.Errorf("%d calls for %d messages of %d notices, want eight messages a call at least: %v", len(sizes), n, notices, sizes)
		}
		if left := r.unsent(ids); left != 0 {
			r.Errorf("%d are not sent", left)
		}
		if back := r.given(ids); back > 2*n {
			r.Errorf("%d times one was claimed in vain", back)
		}
	})
}

// What shares no call is claimed as before, and hardly anything of it in vain. What goes back is sent in its turn.
func TestWhatSharesNoCallIsHardlyClaimedInVain(t *testing.T) {
	hours(t)
	for _, accounts := range []int{0, 1} {
		t.Run(fmt.Sprint(accounts, " accounts"), func(t *testing.T) {
			virtual(t, func(r *rig) {
				b := r.sharers(accounts)
				var ids []string
				for i := range 600 {
					d := text("c", fmt.Sprint("u", i))
					if accounts == 0 && i < 200 {
						d.Content.Text = "first they say the same"
					} else {
						d.Content.Text = fmt.Sprint("number ", i)
					}
					ids = append(ids, r.send(d)...)
				}
				r.resume("c")
				r.pass(3 * time.Minute)
				if n := len(b.sizes()); n < 400 {
					r.Errorf("%d calls", n)
				}
				if left := r.unsent(ids); left != 0 {
					r.Errorf("%d are not sent", left)
				}
				if back := r.given(ids); accounts > 0 && back > 48 { // a few claims look at what is behind
					r.Errorf("%d of 600 were claimed in vain", back)
				} else if back > 400 {
					r.Errorf("%d of 600 were claimed in vain, want those of two claims at most", back)
				}
			})
		})
	}
}

// CAMP-8, FLEET-5: where each member gets a text of its own, each is a call: no more begin than may, though the driver takes many in one.
func TestMembersWithTextsOfTheirOwnAreCallsOfTheirOwn(t *testing.T) {
	campaigning(t, posthouse.ChannelSettings{}, func(d *drive) {
		d.senders = admission.Senders{Min: 2, Max: 6}
		c := &clerk{takes: time.Second}
		d.stop()
		d.restart()
		d.open("c", posthouse.ChannelSettings{}, state.Opened{
			Driver: batchOfOne{c}, MaxBatch: 100, Window: channel.Forever, Address: func(a string) (string, error) { return a, nil },
		})
		if _, err := d.rig.store.Templates.PutTemplate(d.Context(), time.Now(), posthouse.Template{Tenant: d.tenant, Name: "text", Text: "Dear ${name}"}); err != nil {
			d.Fatal(err)
		}
		d.make(60, wire.CampaignDraft{Template: "text"})
		d.act(campaign.Start)
		d.pass(time.Minute)
		d.stands(posthouse.CampaignDone, wire.CampaignProgress{CampaignCounts: wire.CampaignCounts{Members: 60, Sent: 60}})
		if c.most > 6 {
			t.Errorf("%d calls were under way at once, want at most the 6 that may be", c.most)
		}
	})
}

// batchOfOne is a driver that takes many in one call, of which a clerk notes one.
type batchOfOne struct{ *clerk }

func (b batchOfOne) SendBatch(ctx context.Context, outs []channel.Outgoing) []channel.Result {
	results := make([]channel.Result, len(outs))
	for i := range results {
		results[i] = b.Send(ctx, outs[i])
	}
	return results
}
