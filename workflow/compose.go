package workflow

import (
	"context"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// What could not be made into messages is tried again after retryAfter, then ever more rarely as the engine
// puts a plan off: a template or a channel may be mended. After maxRetries, some three days, it is let be.
const (
	retryAfter = 30 * time.Second
	maxRetries = 450
)

// Compose makes the messages of a task that could not be made when its events came, and cancels again what was
// withdrawn. The engine's planner asks for them until they are accepted. It satisfies engine.Composer.
func (f *Flow) Compose(ctx context.Context, p work.Plan, now time.Time) ([]posthouse.Draft, work.Plan, error) {
	t := &turn{Flow: f, tenant: p.Tenant, event: posthouse.TaskEvent{Task: p.ID}, plan: p, now: now, refused: map[string]string{}, answers: map[string]Audience{}}
	if err := t.ledger.decode(p); err != nil {
		return nil, p, err
	}
	if err := t.prepare(ctx); err != nil {
		return nil, p, err
	}
	if err := t.takeBack(ctx); err != nil {
		return nil, p, err
	}
	t.ledger.Recall = false
	messages := t.parts[:0]
	for _, part := range t.parts {
		if part.notice.repeat == nil {
			messages = append(messages, part)
		}
	}
	if t.parts = messages; p.Failures > maxRetries {
		t.parts = nil
	}
	ledger := t.entered()
	s := t.submission(canonical(&ledger))
	if t.more && len(t.parts) > 0 {
		s.Task.NextAt = now
	}
	return s.Drafts, s.Task, nil
}
