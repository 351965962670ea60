package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// lock is a password that somebody guesses, and counts how often it was asked.
type lock struct {
	gate  *Gate
	asked atomic.Int64
}

func newLock() *lock {
	return &lock{gate: NewGate(GateOptions{Keys: nobody{}, Log: slog.New(slog.DiscardHandler)})}
}

// try is "right", "wrong" or "slowed". The password of everybody is "open".
func (l *lock) try(g Guess) string {
	ok, err := l.gate.Judge(g, func() (bool, error) {
		l.asked.Add(1)
		return g.Password == "open", nil
	})
	var f *Fault
	switch {
	case errors.As(err, &f) && f.status == http.StatusTooManyRequests && f.after > 0:
		return "slowed"
	case err != nil:
		return err.Error()
	case ok:
		return "right"
	}
	return "wrong"
}

// wrong makes so many different guesses, each of its own address where at has a #.
func (l *lock) wrong(n int, at, user string) {
	for i := range n {
		l.try(Guess{Of: Peer{Address: strings.ReplaceAll(at, "#", strconv.Itoa(i%250))}, User: user, Password: fmt.Sprint("guess ", i)})
	}
}

const (
	here  = "203.0.113.7"
	there = "198.51.100.9"
)

// Beyond the bound nothing is judged: not even the right password gets in, until the minute is over.
func TestASlowedAddressIsNotJudged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLock()
		l.wrong(brakeAfter+50, here, "admin")
		if got := l.asked.Load(); got != brakeAfter {
			t.Errorf("%d guesses were judged, want %d", got, brakeAfter)
		}
		if got := l.try(Guess{Of: Peer{Address: here}, User: "admin", Password: "open"}); got != "slowed" {
			t.Errorf("the right one beyond the bound is %s", got)
		}
		if got := l.try(Guess{Of: Peer{Address: there}, User: "admin", Password: "open"}); got != "right" {
			t.Errorf("of another address it is %s", got)
		}
		time.Sleep(brakeWindow)
		if got := l.try(Guess{Of: Peer{Address: here}, User: "admin", Password: "open"}); got != "right" {
			t.Errorf("a minute later it is %s", got)
		}
	})
}

// Guesses that come together are bounded like those that come one by one.
func TestGuessesAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	l := newLock()
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range 200 {
		all.Go(func() {
			<-begin
			l.try(Guess{Of: Peer{Address: here}, User: "admin", Password: fmt.Sprint("guess ", i)})
		})
	}
	close(begin)
	all.Wait()
	if got := l.asked.Load(); got != brakeAfter {
		t.Errorf("%d guesses were judged, want %d", got, brakeAfter)
	}
}

// Who was right from an address is not shut out by strangers beside it or anywhere; guesses in that name are bounded all the same.
func TestWhoWasRightBeforeIsJudged(t *testing.T) {
	t.Parallel()
	l := newLock()
	phone := Guess{Of: Peer{Address: here}, User: "phones", Password: "open"}
	if got := l.try(phone); got != "right" {
		t.Fatal(got)
	}
	l.wrong(20, here, "somebody")
	l.wrong(300, "10.0.0.#", "phones")
	if got := l.try(Guess{Of: Peer{Address: "192.0.2.1"}, User: "admin", Password: "open"}); got != "slowed" {
		t.Errorf("over all addresses: %s", got)
	}
	if got := l.try(phone); got != "right" {
		t.Errorf("who was right before is %s", got)
	}
	before := l.asked.Load()
	l.wrong(50, here, "phones")
	if got := l.asked.Load() - before; got != brakeAfter {
		t.Errorf("%d guesses in its name were judged, want %d", got, brakeAfter)
	}
	if got := l.try(phone); got != "slowed" {
		t.Errorf("after them it is %s", got)
	}
}

// Behind a proxy that is not trusted each user has a bound of its own, and all together have one.
func TestBehindAnUntrustedProxyTheBoundIsByUser(t *testing.T) {
	t.Parallel()
	l := newLock()
	at := func(user, password string) string {
		return l.try(Guess{Of: Peer{here, true}, User: user, Password: password})
	}
	for i := range 30 {
		at("admin", fmt.Sprint("guess ", i))
	}
	if got := l.asked.Load(); got != brakeAfter {
		t.Errorf("%d guesses at one user were judged, want %d", got, brakeAfter)
	}
	if got := at("zhang", "open"); got != "right" {
		t.Errorf("another user is %s", got)
	}
	for i := range 300 {
		at(fmt.Sprint("user ", i), "guess")
	}
	if got := l.asked.Load(); got != brakeAfterShared+1 {
		t.Errorf("%d guesses at many users were judged, want %d", got, brakeAfterShared+1)
	}
	if got := at("li", "open"); got != "slowed" {
		t.Errorf("beyond that a user who was never right is %s", got)
	}
	if got := at("zhang", "open"); got != "right" {
		t.Errorf("one who was is %s", got)
	}
}

// Somebody who was vouched for is judged whatever strangers do, and does not guess without bound either.
func TestWhoWasVouchedForIsNeverShutOutByStrangers(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]Peer{"of one address": {here, false}, "behind an untrusted proxy": {here, true}} {
		l := newLock()
		for i := range 30 {
			l.try(Guess{Of: of, User: "admin", Password: fmt.Sprint("guess ", i)})
		}
		l.wrong(300, "10.0.0.#", "admin")
		admin := Guess{Of: of, User: "admin", Password: "open"}
		if got := l.try(admin); got != "slowed" {
			t.Errorf("%s: without more it is %s", name, got)
		}
		admin.Vouched = true
		if got := l.try(admin); got != "right" {
			t.Errorf("%s: vouched for it is %s", name, got)
		}
		before := l.asked.Load()
		for i := range 50 {
			l.try(Guess{Of: of, User: "admin", Password: fmt.Sprint("guess ", i), Vouched: true})
		}
		if got := l.asked.Load() - before; got != brakeAfter {
			t.Errorf("%s: %d guesses were judged, want %d", name, got, brakeAfter)
		}
	}
}

// What could not be judged is no guess.
func TestWhatCouldNotBeJudgedIsNoGuess(t *testing.T) {
	t.Parallel()
	l, away := newLock(), errors.New("the database does not answer")
	for i := range 50 {
		_, err := l.gate.Judge(Guess{Of: Peer{Address: here}, User: "admin", Password: fmt.Sprint(i)}, func() (bool, error) { return false, away })
		if !errors.Is(err, away) {
			t.Fatal(err)
		}
	}
}

// The memory is bounded, however many come.
func TestTheMemoryOfGuessesIsBounded(t *testing.T) {
	t.Parallel()
	b, now := newBrake(), time.Unix(1_700_000_000, 0)
	for i := range maxRight + 50 {
		g := Guess{Of: Peer{Address: fmt.Sprintf("2001:db8:%x:%x::1", i>>16, i&0xffff)}, User: "u", Password: "open"}
		if v := b.admit(g, now); v.wait > 0 {
			t.Fatalf("the %dth is slowed", i)
		}
		b.release(g, true, now)
		b.admit(Guess{Of: g.Of, User: "u", Password: "wrong"}, now)
	}
	if len(b.right) > maxRight || len(b.from) > maxSuspects || len(b.all.marks) > brakeAfterAll {
		t.Errorf("%d, %d and %d are kept", len(b.right), len(b.from), len(b.all.marks))
	}
}
