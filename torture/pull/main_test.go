package pull

import (
	"testing"

	"github.com/posthouse/posthouse/torture/house"
)

// beside runs a test beside others in the small form, where most of its time is waiting. The full form
// measures, one after the other.
func beside(t *testing.T) {
	t.Helper()
	if !house.Full() {
		t.Parallel()
	}
}
