package wire

import "time"

// NewNotice is a notice as its document writes it.
type NewNotice struct {
	UserID   string `json:"userId"`
	UserType string `json:"userType" doc:"head_office or branch; also 总行 and 分行."`
	Platform string `json:"platform" doc:"tianyuan or zhaohu; also 天元 and 招呼."`
	Content  string `json:"messageContent"`
}

// NoticeSent answers a notice.
type NoticeSent struct {
	ID     string `json:"id"`
	Status string `json:"status" doc:"pending, or suppressed with its reason."`
	Reason string `json:"reason,omitempty"`
}

// Notice is a notice in the field names and status words of its document.
type Notice struct {
	ID         string    `json:"id"`
	UserID     string    `json:"user_id"`
	Platform   string    `json:"platform"`
	Content    string    `json:"content"`
	Status     string    `json:"status"`
	RetryCount int       `json:"retry_count"`
	CreateTime time.Time `json:"create_time"`
	UpdateTime time.Time `json:"update_time"`
	LastError  string    `json:"last_error"`
}

// Scheduled is a line of the duty schedule, as its document names it.
type Scheduled struct {
	ID     string `json:"id"`
	Day    int    `json:"day_of_week" doc:"1 (Monday) to 7."`
	UserID string `json:"user_id"`
}
