package ids_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/ids"
)

func ExampleAt() {
	at := time.Date(2023, 12, 1, 10, 0, 0, 0, time.UTC)
	id := ids.At(at, "task_20231201_001")
	fmt.Println(id, posthouse.ValidID(id))
	fmt.Println(posthouse.DeliveryID(id, 1))
	// Output:
	// 01HGJD4880F4BAWWSXWFR20000 true
	// 01HGJD4880F4BAWWSXWFR20001
}

func TestAnIDGoesByTimeAndKey(t *testing.T) {
	t.Parallel()
	at := time.Date(2023, 12, 1, 10, 0, 0, 0, time.UTC)
	id := ids.At(at, "a")
	if again := ids.At(at, "a"); again != id {
		t.Errorf("the same time and key have %s and %s", id, again)
	}
	if other := ids.At(at, "b"); other == id || other[:10] != id[:10] {
		t.Errorf("another key has %s, the first %s: want another id of the same time", other, id)
	}
	if later := ids.At(at.Add(time.Millisecond), "a"); later <= id {
		t.Errorf("a later time has %s, the first %s", later, id)
	}
	if old := ids.At(time.Time{}, "a"); !posthouse.ValidID(old) {
		t.Errorf("a time before 1970 has %q, which is no id", old)
	}
}
