package admission

import (
	"testing"

	"github.com/posthouse/posthouse"
)

// FLEET-10: a channel whose calls take many recipients takes their tokens in advance to look what there is. One that asked meanwhile
// looks again soon, and has what came back; it counts as one wait.
func TestFLEET_10_WhoWaitsForWhatWasTakenInAdvanceLooksAgain(t *testing.T) {
	t.Parallel()
	shaper, now, waits := NewShaper(posthouse.Shapes{"*": {posthouse.Low: {Rate: 5, Burst: 5}}}), midnight, 0
	low := Of{Lane: Lane{Priority: posthouse.Low}}
	of := func(name string, batch int) *shaping {
		ch := channelOf(nil)
		ch.Key.Channel, ch.Settings.Batch = name, batch
		return &shaping{c: New(ch, Options{Shaped: func(posthouse.Priority) { waits++ }}), shaper: shaper}
	}
	many, one := of("many", 1000), of("one", 1)
	closed := func() bool { room, _ := one.Free(now, low); return room.none() }
	ahead := many.TakeUpTo(now, low, Room{4096, 4096})
	for range 3 {
		if got := one.TakeUpTo(now, low, Room{10, 10}); got.N != 0 || !closed() {
			t.Fatalf("%d tokens were given of none", got.N)
		}
		if now = now.Add(lookAgain); closed() {
			t.Fatalf("it does not look again within %v", lookAgain)
		}
	}
	many.Return(low, ahead)
	if got := one.TakeUpTo(now, low, Room{10, 10}); got.N == 0 || closed() {
		t.Errorf("%d tokens were given of those that came back", got.N)
	}
	if waits != 1 {
		t.Errorf("%d waits were counted, want 1", waits)
	}
}
