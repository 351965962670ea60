package callback

import (
	"context"
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

func newKnown(from *addresses) *known {
	return &known{from: from, found: map[string]remembered{}, calls: map[string]*metre{}}
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
	k, now := newKnown(db), time.Unix(1000, 0)
	if !k.has(t, mine, now) || k.has(t, "short", now) || k.has(t, mine[:31]+"!", now) {
		t.Error("an address of ours is not found, or what is none is")
	}
	for range 1000 {
		k.has(t, NewAddress(), now)
	}
	if db.asked > looksASec+1 {
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

func TestAnAddressTakesSoManyCallsASecond(t *testing.T) {
	t.Parallel()
	k, now := newKnown(&addresses{}), time.Unix(1000, 0)
	over := 0
	for range callsASec + 5 {
		if k.crowded("a", now) {
			over++
		}
	}
	if over != 5 || k.crowded("b", now) || k.crowded("a", now.Add(time.Second)) {
		t.Errorf("%d calls are over, want 5 of this address and second", over)
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
