package work

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Whole is a message with all that is stored of it: its row, nil where there is none, its deliveries, and all events of these
// in their order.
type Whole struct {
	ID         string
	Message    *posthouse.Message
	Recipients int
	Deliveries []posthouse.Delivery
	Events     []posthouse.Event
}

// Checkpoint is a link of the hash chain over what is stored: package chain says what its fields mean.
type Checkpoint struct {
	Seq       int64
	At        time.Time
	Pass      int
	Low, High string
	Keep      time.Duration
	Messages  int
	// Body is empty where a later pass has sealed the same anew.
	Body                 string
	BodyHash, Prev, Hash string
}
