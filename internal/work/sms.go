package work

import (
	"fmt"
	"time"
)

// SMSTemplate is a text of the SMS front door, with {name} where values go.
type SMSTemplate struct {
	ID        int64     `json:"id"`
	Tenant    string    `json:"-"`
	Name      string    `json:"template_name"`
	Text      string    `json:"template_content"`
	Active    bool      `json:"is_active"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// DefaultSMS is what a phone is sent when a request has no content: once, until it is set again.
type DefaultSMS struct {
	Tenant    string `json:"-"`
	Phone     string `json:"phone_number"` // E.164
	Text      string `json:"content"`
	Templated bool   `json:"use_template"`
	// Generation rises each time it is set. Its DedupKey is the message's that takes it: whoever comes
	// second finds a duplicate.
	Generation int64 `json:"generation"`
	// Sent is set where a message has taken this generation, or an import says so.
	Sent      bool      `json:"is_sent"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// DedupKey is the key of the message that takes this generation.
func (d DefaultSMS) DedupKey() string { return fmt.Sprintf("default_sms:%s:%d", d.Phone, d.Generation) }
