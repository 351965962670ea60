package outbox

import "time"

// SetClock lets a box's minutes go by a clock of the test's.
func SetClock(b *Box, now func() time.Time) { b.now = now }

// BePatient lets a box look for as long as a busy machine takes.
func BePatient(b *Box) { b.patience = time.Minute }
