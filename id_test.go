package posthouse_test

import (
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

func TestAnIDSaysWhenItWasMade(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 10, 1, 8, 30, 0, 123_000_000, time.UTC)
	for _, id := range []string{posthouse.FirstID(at), posthouse.DeliveryID(posthouse.FirstID(at), 7)} {
		if got := posthouse.IDTime(id); !got.Equal(at) {
			t.Errorf("IDTime(%s) = %v, want %v", id, got, at)
		}
	}
	before := time.Now()
	id := posthouse.NewID()
	if id < posthouse.FirstID(before) || id >= posthouse.FirstID(posthouse.IDTime(id).Add(time.Millisecond)) {
		t.Errorf("FirstID does not part %s from what was made before and after", id)
	}
}
