package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store/storetest"
	"github.com/posthouse/posthouse/internal/work"
)

// gateless is a database that takes gates late, or not at all.
type gateless struct {
	storetest.Whole
	set func() error
}

func (s gateless) SetGate(ctx context.Context, now time.Time, g work.Gate, wait time.Duration) error {
	if err := s.set(); err != nil {
		return err
	}
	return s.Whole.SetGate(ctx, now, g, wait)
}

// A provider that says when to come again is obeyed also where that cannot be told to others.
func TestAGateStandsThatIsNotStored(t *testing.T) {
	hours(t)
	for name, set := range map[string]func() error{
		"yet":    func() error { <-time.After(12 * time.Second); return nil }, // in virtual time
		"at all": func() error { return errors.New("no answer") },
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(r *rig) {
				r.between(gateless{storetest.All(r.store), set})
				r.open("c", posthouse.ChannelSettings{MaxInflight: 1}, idempotent)
				r.provider.decide(func(out channel.Outgoing) channel.Result {
					if len(r.provider.at) > 1 {
						return channel.Result{Class: posthouse.ClassOK}
					}
					return channel.Result{Class: posthouse.ClassRate, After: 10 * time.Minute}
				})
				began := time.Now()
				r.send(text("c", "u1", "u2"))
				r.pass(11 * time.Minute)
				if at := r.provider.at; len(at) != 3 || at[1].Sub(began) < 10*time.Minute || at[1].Sub(began) > 11*time.Minute {
					r.Errorf("it was sent at %v, want one when the account is refused at %s and two 10 minutes later", at, began)
				}
			})
		})
	}
}

// A gate that could not be stored at first is known to the others soon after, and they can open it.
func TestAGateIsStoredAgain(t *testing.T) {
	virtual(t, func(r *rig) {
		tries := 0
		r.between(gateless{storetest.All(r.store), func() error {
			if tries++; tries == 1 {
				return errors.New("no answer")
			}
			return nil
		}})
		r.open("c", posthouse.ChannelSettings{}, idempotent)
		r.provider.answer = fail(posthouse.ClassAccount)
		r.send(text("c", "u1"))
		r.pass(20 * time.Second)
		if gates, err := r.store.Gates.Gates(r.Context(), r.tenant); err != nil || len(gates) != 1 || tries != 2 {
			r.Errorf("after %d tries %v are stored, %v; want one after 2", tries, gates, err)
		}
		if err := r.store.Gates.ClearGate(r.Context(), r.tenant, "c", "*"); err != nil {
			r.Fatal(err)
		}
		r.pass(20 * time.Second)
		if n := len(r.provider.at); n != 2 {
			r.Errorf("it was sent %d times, want once more after others have opened it", n)
		}
	})
}

// A message that was refused when a quota had ended goes as soon as a person resumes the channel, and not at midnight.
func TestResumingAChannelReleasesWhatItsQuotaRefused(t *testing.T) {
	hours(t)
	for _, profile := range []string{"", "wecom"} {
		t.Run("profile "+profile, func(t *testing.T) {
			virtual(t, func(r *rig) {
				r.open("c", posthouse.ChannelSettings{Profile: profile}, idempotent)
				r.provider.decide(func(channel.Outgoing) channel.Result {
					if len(r.provider.at) > 1 {
						return channel.Result{Class: posthouse.ClassOK}
					}
					return channel.Result{Class: posthouse.ClassRate, Code: "45009", After: 9 * time.Hour}
				})
				id := r.send(text("c", "u1"))[0]
				r.pass(time.Hour)
				if n := len(r.provider.sent()); n != 1 {
					r.Fatalf("%d calls of an account that is closed until midnight", n)
				}
				if err := r.engine.Gates.Resume(r.Context(), r.tenant, "c"); err != nil {
					r.Fatal(err)
				}
				r.pass(time.Minute)
				if d := r.get(id); d.State != posthouse.Sent {
					r.Errorf("it is %s, due %s", d.State, d.DueAt)
				}
			})
		})
	}
}

// A channel whose config is put right need not wait until its account is probed again. A limit of the provider's rate holds on, and
// what an attempt by the old config is told counts no more.
func TestANewConfigIsTriedAtOnce(t *testing.T) {
	for class, sent := range map[posthouse.Class]bool{posthouse.ClassAccount: true, posthouse.ClassAuth: true, posthouse.ClassRate: false} {
		t.Run(string(class), func(t *testing.T) {
			virtual(t, func(r *rig) {
				set := func(url string) {
					ch, _, err := r.store.Channels.PutChannel(r.Context(), time.Now(), posthouse.Channel{Tenant: r.tenant, Name: "c", Driver: "test", Config: map[string]any{"url": url}})
					if err != nil {
						r.Fatal(err)
					}
					if err := r.engine.Routes.SetChannel(ch, state.Opened{Driver: r.provider, Window: channel.Forever}); err != nil {
						r.Fatal(err)
					}
				}
				set("http://127.0.0.1:1/wrong")
				r.provider.answer = func(channel.Outgoing) channel.Result { return channel.Result{Class: class, After: time.Hour} }
				r.send(text("c", "li.na"))
				r.pass(time.Second)
				id := r.send(text("c", "wang.wei"))[0]
				set("http://127.0.0.1:1/wrong") // the same
				r.pass(time.Second)
				if n := len(r.provider.sent()); n != 1 {
					r.Fatalf("it was sent %d times by the config that is refused, want once", n)
				}
				r.provider.answer = nil
				set("http://127.0.0.1:1/right")
				r.pass(time.Second)
				if d := r.get(id); d.State == posthouse.Sent != sent {
					r.Errorf("a second after the config was put right it is %s", d.State)
				}
			})
		})
	}
}

// FLEET-5: an account that its provider has punished is not punished again by a process that starts later, or by one that
// sent beside it: the gate remembers what it bears.
func TestAPunishmentIsRemembered(t *testing.T) {
	hours(t)
	virtual(t, func(r *rig) {
		var taken []time.Time
		var punished []time.Time
		r.provider.decide(func(channel.Outgoing) channel.Result {
			now := time.Now()
			if len(punished) > 0 && now.Sub(punished[len(punished)-1]) < time.Minute {
				return channel.Result{Class: posthouse.ClassRate, Code: "45009", After: time.Minute}
			}
			if n := len(taken); n >= 5 && now.Sub(taken[n-5]) < time.Second {
				punished = append(punished, now)
				return channel.Result{Class: posthouse.ClassRate, Code: "45009", After: time.Minute}
			}
			taken = append(taken, now)
			return channel.Result{Class: posthouse.ClassOK}
		})
		open := func() {
			r.open("c", posthouse.ChannelSettings{Rate: &posthouse.RateSettings{}}, state.Opened{Window: channel.Forever})
		}
		open()
		for range 4 {
			users := make([]string, 500)
			for i := range users {
				users[i] = posthouse.NewID()
			}
			r.send(text("c", users...))
		}
		r.pass(2 * time.Minute)
		gates, err := r.store.Gates.Gates(r.Context(), r.tenant)
		if err != nil || len(gates) != 1 || gates[0].Learned < 1 || gates[0].Learned > 5 || gates[0].Until.After(time.Now()) {
			r.Fatalf("the gates are %+v, %v; want one that is open and has learned what the account bears", gates, err)
		}
		before := len(taken)
		for range 3 {
			r.stop()
			r.restart()
			open()
			r.pass(90 * time.Second)
		}
		if len(punished) != 1 {
			r.Errorf("it was punished at %v, want once", punished)
		}
		if n := len(taken) - before; n < 300 {
			r.Errorf("%d were taken in 4.5 minutes after it, want most of what was learned", n)
		}
	})
}

// A process that starts knows what is parked before it sends anything.
func TestAProcessThatStartsTriesNoParkedAccount(t *testing.T) {
	virtual(t, func(r *rig) {
		g := work.Gate{Tenant: r.tenant, Channel: "c", Class: posthouse.ClassAuth}
		if err := r.store.Gates.SetGate(r.Context(), time.Now(), g, time.Hour); err != nil {
			r.Fatal(err)
		}
		r.stop()
		r.restart()
		r.open("c", posthouse.ChannelSettings{}, state.Opened{Window: channel.Forever})
		r.send(text("c", "u1"))
		r.pass(time.Minute)
		if n := len(r.provider.sent()); n != 0 {
			r.Errorf("it was tried %d times within a minute, although it is parked for an hour", n)
		}
	})
}

// What this machine lacks is no fault of the provider's: no try is burned, the channel rests here for a moment, and the
// other processes are told nothing.
func TestAFailureOfThisMachineParksTheChannelHereForAMoment(t *testing.T) {
	virtual(t, func(r *rig) {
		r.open("c", posthouse.ChannelSettings{Tries: 2}, idempotent)
		r.provider.answer = func(channel.Outgoing) channel.Result {
			return channel.Result{Class: posthouse.ClassLocal, Code: channel.CodeLocal, Error: "too many open files"}
		}
		id := r.send(text("c", "u1"))[0]
		r.pass(time.Minute)
		d := r.want(id, posthouse.Pending, "local", 0)
		if n := len(r.provider.sent()); n < 3 || n > 40 {
			r.Errorf("it was tried %d times in a minute, want a few", n)
		}
		if gates, err := r.store.Gates.Gates(r.Context(), r.tenant); err != nil || len(gates) != 0 {
			r.Errorf("the others are told of %v, %v", gates, err)
		}
		if says := fmt.Sprint(r.engine.Explainer.Explain(r.Context(), d)); !strings.Contains(says, "this process sends nothing") {
			r.Errorf("it is explained as %q", says)
		}
		r.provider.mu.Lock()
		r.provider.answer = func(channel.Outgoing) channel.Result { return channel.Result{Class: posthouse.ClassOK} }
		r.provider.mu.Unlock()
		r.pass(time.Minute)
		r.want(id, posthouse.Sent, "", 0)
	})
}
