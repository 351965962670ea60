package outbox

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/workflow"
)

// Bounds of one call.
const (
	MaxDrafts     = 1000                // drafts, or events
	MaxRecipients = draft.MaxRecipients // recipients of one draft
	MaxBytes      = 8 << 20             // all of them together, as JSON: below what MariaDB takes in one packet by default
)

// encode checks the drafts and writes them as JSON.
func (b *Box) encode(ctx context.Context, drafts []posthouse.Draft) ([]string, error) {
	trace := ""
	if b.o.Trace != nil {
		trace = b.o.Trace(ctx)
	}
	now := b.now()
	return encode("drafts", "messages", len(drafts), func(i int, p *draft.Problems) any {
		draft.Check(&drafts[i], MaxRecipients, now, p)
		return draft.Row{Draft: drafts[i], Traceparent: trace}
	})
}

// encodeEvents does the same for events. Whether an event makes sense is the workflow's question.
func encodeEvents(events []workflow.Event) ([]string, error) {
	return encode("events", "events", len(events), func(i int, p *draft.Problems) any {
		e := &events[i]
		if e.Type == "" {
			p.Add("event", "is required: what happened, such as %s", workflow.TaskCreated)
		}
		if e.Task == "" {
			p.Add("task_id", "is required")
		}
		return eventRow{*e}
	})
}

// eventRow is a draft.Row with an event and nothing else.
type eventRow struct {
	TaskEvent workflow.Event `json:"task_event"`
}

// encode writes n things as JSON, each as check gives it, or names all that is wrong with them.
func encode(list, things string, n int, check func(i int, p *draft.Problems) any) ([]string, error) {
	if n > MaxDrafts {
		return nil, refuse([]posthouse.Problem{{Path: list, Message: fmt.Sprintf("has %d %s: at most %d are allowed in one call", n, things, MaxDrafts)}})
	}
	var problems []posthouse.Problem
	texts := make([]string, n)
	size := 0
	for i := range n {
		p := &draft.Problems{}
		if n > 1 {
			p.Path = fmt.Sprintf("%s[%d].", list, i)
		}
		if value := check(i, p); len(p.List) == 0 {
			text, err := json.Marshal(value)
			if err != nil {
				p.Add("draft", "cannot be written as JSON: %s", err)
			}
			texts[i] = string(text)
			size += len(text)
		}
		problems = append(problems, p.List...)
	}
	if size > MaxBytes {
		problems = append(problems, posthouse.Problem{Path: list, Message: fmt.Sprintf("have %d bytes together: at most %d are allowed in one call", size, MaxBytes)})
	}
	return texts, refuse(problems)
}

// refuse makes the error of a call, nil without problems.
func refuse(problems []posthouse.Problem) error {
	return posthouse.Invalid("the message cannot be enqueued", problems)
}
