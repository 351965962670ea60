package proxy

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when anything of a closed proxy still runs.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
