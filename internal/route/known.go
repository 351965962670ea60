package route

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// mostKnownPages bounds what is looked through for what is known: the newest notifications about a ref. What is not found is told once more.
const mostKnownPages = 5

// Known is what notifications about something tell of that is not over. A message counts as open as long as one of its notifications waits or was
// acknowledged.
func (b Book) Known(ctx context.Context, tenant string, about work.Over) (known work.Ongoing, err error) {
	open, told, things := map[string]bool{}, map[string]bool{}, map[string]work.Things{}
	var messages []string // the newest first
	cursor := ""
	for range mostKnownPages {
		plans, next, err := b.Store.PlansIn(ctx, tenant, work.PlanNotification, work.PlanFilter{Kind: about.Kind, Ref: about.Ref}, cursor, overPage)
		if err != nil {
			return known, err
		}
		for _, p := range plans {
			n, err := read(p)
			if err != nil {
				return known, err
			}
			if n.Draft.Source != about.Source || n.ResolvedBy != "" {
				continue
			}
			if len(messages) == 0 || messages[len(messages)-1] != n.Message {
				messages = append(messages, n.Message)
			}
			open[n.Message] = open[n.Message] || n.State == posthouse.NotificationWaiting || n.State == posthouse.NotificationAcknowledged
			told[n.Message] = told[n.Message] || open[n.Message] || n.State == posthouse.NotificationTold
			if len(n.Things.Marks) > 0 || n.Things.Left > 0 {
				things[n.Message] = n.Things
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	for _, message := range messages {
		of, kept := things[message]
		if kept && open[message] {
			known.Open.Add(message, &of)
		}
		if kept && told[message] {
			known.Told.Add(message, &of)
		}
	}
	return known, nil
}
