package callback

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// addresses are a database that counts the questions.
type addresses struct {
	there map[string]bool
	asked int
}

func (a *addresses) Callback(_ context.Context, address string) (work.CallbackAddress, error) {
	a.asked++
	if !a.there[address] {
		return work.CallbackAddress{}, posthouse.Errorf(posthouse.CodeNotFound, "there is none")
	}
	return work.CallbackAddress{Address: address, Channel: "c"}, nil
}

func (k *known) has(t *testing.T, address string, at time.Time) bool {
	t.Helper()
	_, found, err := k.find(t.Context(), address, at)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAddressesAreRandom(t *testing.T) {
	t.Parallel()
	a, b := NewAddress(), NewAddress()
	if a == b || !isAddress(a) || !isAddress(b) {
		t.Errorf("got %q and %q", a, b)
	}
}

// A caller that makes addresses up does not reach the database more than so often, and does not keep others out.
func TestGuessesCostLittle(t *testing.T) {
	t.Parallel()
	mine := NewAddress()
	db := &addresses{there: map[string]bool{mine: true}}
	k, now := newKnown(db, DefaultRate), time.Unix(1000, 0)
	if !k.has(t, mine, now) || k.has(t, "short", now) || k.has(t, mine[:31]+"!", now) {
		t.Error("an address of ours is not found, or what is none is")
	}
	busy := 0
	for range 1000 {
		if _, _, err := k.find(t.Context(), NewAddress(), now); errors.Is(err, errBusy) {
			busy++
		}
	}
	if db.asked > looksASec+1 || busy != 1000-looksASec+1 {
		t.Errorf("the database was asked %d times", db.asked)
	}
	asked := db.asked
	if !k.has(t, mine, now.Add(knownFor-1)) || db.asked != asked {
		t.Error("what is known is asked for again")
	}
	if !k.has(t, mine, now.Add(knownFor)) || db.asked != asked+1 {
		t.Error("an address of ours is lost among guesses")
	}
	db.there[mine] = false
	if !k.has(t, mine, now.Add(2*knownFor-1)) || k.has(t, mine, now.Add(2*knownFor)) {
		t.Error("a deleted address does not end when its time is over")
	}
}

// Calls that are too many are slowed down, each to its moment, and those of other addresses are not; only who would wait longer than a
// provider does is not served.
func TestTooManyCallsAtAnAddressAreSlowedDown(t *testing.T) {
	t.Parallel()
	k, now := newKnown(&addresses{}, 100), time.Unix(1000, 0)
	for i := range 100 {
		if wait := k.turn("a", now); wait > 0 {
			t.Fatalf("call %d of the first hundred waits %s", i, wait)
		}
	}
	for i := range 400 {
		if got, want := k.turn("a", now), time.Duration(i)*10*time.Millisecond; got != want {
			t.Fatalf("call %d beyond a hundred waits %s, want %s", i, got, want)
		}
	}
	_ = k.turn("a", now) // the last one that waits four seconds
	for range 100 {
		if wait := k.turn("a", now); wait <= longestTurn {
			t.Fatalf("a call beyond four seconds of others waits %s", wait)
		}
	}
	if k.turn("b", now) > 0 || k.turn("a", now.Add(6*time.Second)) > 0 {
		t.Error("another address, or the same after a rest, waits")
	}
}

// slowly is a database that takes its time to answer.
type slowly struct {
	*addresses
	asked, answer chan struct{}
}

func (s slowly) Callback(ctx context.Context, address string) (work.CallbackAddress, error) {
	s.asked <- struct{}{}
	<-s.answer
	return s.addresses.Callback(ctx, address)
}

// After a restart a provider calls many times at once, and before the first is looked up: none is refused, and one question is asked.
func TestManyCallsOfOneAddressAreOneQuestion(t *testing.T) {
	t.Parallel()
	mine := NewAddress()
	db := slowly{&addresses{there: map[string]bool{mine: true}}, make(chan struct{}, 1), make(chan struct{})}
	k, now := newKnown(db, DefaultRate), time.Unix(1000, 0)
	const calls = 10 * looksASec
	found := make(chan bool, calls)
	for range calls {
		go func() {
			_, is, err := k.find(t.Context(), mine, now)
			found <- is && err == nil
		}()
	}
	<-db.asked
	close(db.answer)
	for range calls {
		if !<-found {
			t.Error("a call to an address of ours was refused")
		}
	}
	if db.addresses.asked != 1 {
		t.Errorf("the database was asked %d times", db.addresses.asked)
	}
}

func TestOnceForgetsInTime(t *testing.T) {
	t.Parallel()
	var o once
	now := time.Unix(1000, 0)
	a, body := markOf("a", "1"), markOf("x")
	if before, _ := o.seen(a, body); before {
		t.Error("seen before it came")
	}
	o.remember(a, body, now)
	if before, same := o.seen(a, body); !before || !same {
		t.Error("not seen")
	}
	if before, same := o.seen(a, markOf("y")); !before || same {
		t.Error("another body is the same")
	}
	if before, _ := o.seen(markOf("a1"), body); before {
		t.Error("parts run into each other")
	}
	o.remember(markOf("b"), body, now.Add(rememberedFor+1))
	if before, _ := o.seen(a, body); !before {
		t.Error("forgotten too early")
	}
	o.remember(markOf("c"), body, now.Add(3*rememberedFor))
	if before, _ := o.seen(a, body); before {
		t.Error("never forgotten")
	}
}
