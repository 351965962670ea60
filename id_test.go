package posthouse_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

func ExampleIDAt() {
	at := time.Date(2023, 12, 1, 10, 0, 0, 0, time.UTC)
	id := posthouse.IDAt(at, "task_20231201_001")
	fmt.Println(id, posthouse.ValidID(id))
	fmt.Println(posthouse.DeliveryID(id, 1))
	// Output:
	// 01HGJD4880F4BAWWSXWFR20000 true
	// 01HGJD4880F4BAWWSXWFR20001
}

func TestIDAtGoesByTimeAndKey(t *testing.T) {
	t.Parallel()
	at := time.Date(2023, 12, 1, 10, 0, 0, 0, time.UTC)
	id := posthouse.IDAt(at, "a")
	if again := posthouse.IDAt(at, "a"); again != id {
		t.Errorf("the same time and key have %s and %s", id, again)
	}
	if other := posthouse.IDAt(at, "b"); other == id || other[:10] != id[:10] {
		t.Errorf("another key has %s, the first %s: want another id of the same time", other, id)
	}
	if later := posthouse.IDAt(at.Add(time.Millisecond), "a"); later <= id {
		t.Errorf("a later time has %s, the first %s", later, id)
	}
	if old := posthouse.IDAt(time.Time{}, "a"); !posthouse.ValidID(old) {
		t.Errorf("a time before 1970 has %q, which is no id", old)
	}
}

func TestAnIDSaysWhenItWasMade(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 10, 1, 8, 30, 0, 123_000_000, time.UTC)
	for _, id := range []string{posthouse.FirstID(at), posthouse.IDAt(at, "x"), posthouse.DeliveryID(posthouse.FirstID(at), 7)} {
		if got := posthouse.IDTime(id); !got.Equal(at) {
			t.Errorf("IDTime(%s) = %v, want %v", id, got, at)
		}
	}
	if early := posthouse.IDAt(at.Add(-time.Millisecond), "x"); early >= posthouse.FirstID(at) || posthouse.IDAt(at, "x") < posthouse.FirstID(at) {
		t.Error("FirstID does not part what was made before from what was made after")
	}
}
