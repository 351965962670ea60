package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Imported is what another system has done with a message, told in our words: the one delivery as it stands,
// and the events that led there. Times are those of the other system.
type Imported struct {
	Message  posthouse.Message
	Delivery posthouse.Delivery
	Events   []posthouse.Event
}

// FormerKey is the dedup key of a task that was brought over with a number of its own: its ref.
func FormerKey(number string) string { return "lksms:" + number }

// LksmsTask is a row of the table of tasks that an import reads. A time it does not have is zero.
type LksmsTask struct {
	Row            int64 // the number by which rows are read in order
	ID             string
	Phone, Content string
	Status         int // 0 pending, 1 processing, 2 success, 3 failed
	Source         string
	Retries        int
	App            string
	Result         string
	CreatedAt      time.Time
	UpdatedAt      time.Time
	SentAt         time.Time
	ReportedAt     time.Time
}

// LksmsLine is a row of one of the three logs that an import reads. The line's Delivery is the task's id as it
// was there.
type LksmsLine struct {
	Row int64
	Line
}

// LksmsDefault is a row of the table of default contents that an import reads.
type LksmsDefault struct {
	Row int64
	DefaultSMS
}
