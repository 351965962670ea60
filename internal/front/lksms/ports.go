package lksms

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/pull"
	"github.com/posthouse/posthouse/internal/work"
)

// Engine accepts, hands out and takes reports. The engine's roles satisfy it.
type Engine interface {
	Accept(ctx context.Context, req intake.Request) (intake.Answer, error)
	HandOut(ctx context.Context, c pull.Claim) (pull.Claimed, error)
	ReportHandouts(ctx context.Context, reports []work.Report) ([]work.Report, error)
	RescueNow(ctx context.Context) (int, error)
}

// Store is what the front door reads and keeps beside tasks.
type Store interface {
	// Tally counts the tasks of a channel without looking at them.
	Tally(ctx context.Context, tenant, channel string) (work.Tally, error)
	// Answer is what the sender of an Idempotency-Key was told, if it was used.
	Answer(ctx context.Context, tenant, endpoint, key, hash string) (answer []byte, found bool, err error)
	// AddReceived keeps who asked for what.
	AddReceived(ctx context.Context, now time.Time, lines []work.Line) error
	Ping(ctx context.Context) error
}

// Agents knows the apps.
type Agents interface {
	Agent(ctx context.Context, tenant, id string) (posthouse.Agent, error)
	// MeetAgent keeps one that was not registered, unless there are so many. Those that were not heard of go first.
	MeetAgent(ctx context.Context, now time.Time, a posthouse.Agent, most int, unseen time.Duration) (posthouse.Agent, error)
	// Spoke reports whether one has reported anything since a time.
	Spoke(ctx context.Context, tenant, id string, since time.Time) (bool, error)
}

// Texts keeps templates and default contents.
type Texts interface {
	AddSMSTemplate(ctx context.Context, now time.Time, t work.SMSTemplate) (work.SMSTemplate, error)
	SetSMSTemplate(ctx context.Context, now time.Time, tenant string, id int64, active bool) error
	SMSTemplates(ctx context.Context, tenant string) ([]work.SMSTemplate, error)
	PutDefaultSMS(ctx context.Context, now time.Time, d work.DefaultSMS) (work.DefaultSMS, error)
	DefaultSMS(ctx context.Context, tenant, channel, phone string) (d work.DefaultSMS, found bool, err error)
}
