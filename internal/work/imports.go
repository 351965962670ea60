package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Imported is what another system has done with a message, told in our words: the deliveries as they stand,
// and the events that led there. Times are those of the other system.
type Imported struct {
	Message    posthouse.Message
	Deliveries []posthouse.Delivery
	Events     []posthouse.Event
	// KeyUntil is how long the message's dedup key holds. Defaults to not at all.
	KeyUntil time.Time
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

// NotifyJob is a row of the notification document's table of jobs that an import reads, with its recipients. A time it does not
// have is zero.
type NotifyJob struct {
	Row                      int64
	BizType, Channel, Status int
	BizID, Key, Payload      string
	Retries                  int
	NextRun                  time.Time
	Deleted                  bool
	CreateBy, UpdateBy       string
	CreatedAt, UpdatedAt     time.Time
	Recipients               []NotifyRecipient
}

// NotifyRecipient is a row of the table of recipients.
type NotifyRecipient struct {
	Row, Job             int64
	User, Error, Message string // Message is the provider's id
	Status               int
	UpdatedAt            time.Time
}

// NotifyTemplate is a row of the table of templates.
type NotifyTemplate struct {
	Row                     int64
	BizType, Channel        int
	Title, Text, ExternalID string
	Enabled                 bool
}

// NotifyUser is a user of the workflow system, or only a recipient's id.
type NotifyUser struct {
	ID, Username, Name string
	Roles              []string
}
