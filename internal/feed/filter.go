package feed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Filter selects events. An empty list is all of them.
type Filter struct {
	// Tenant is the only one whose events are seen; empty for a program that embeds the server.
	Tenant string
	// Sight is what is seen at all. Defaults to nothing.
	Sight                 work.Sight
	Channels, Kinds, Refs []string
	States                []posthouse.State
	// Types are types of events, or the first words of them: delivery.sent, notification, budget, callback.
	Types []string
}

// Wants reports whether an event passes.
func (f *Filter) Wants(e *posthouse.FeedEvent) bool {
	return (f.Tenant == "" || f.Tenant == e.Tenant) && f.Sight.Kind(e.Kind) && f.wantsChannels(e) &&
		among(f.Kinds, e.Kind) && among(f.Refs, e.Ref) && among(f.States, e.To) && f.wantsType(e)
}

// wantsChannels reports whether the event's channel is seen and wanted; of a notification, each that its route uses.
func (f *Filter) wantsChannels(e *posthouse.FeedEvent) bool {
	of := []string{e.Channel}
	if e.Notification != nil {
		of = e.Notification.Channels
	}
	return f.Sight.Sees && !slices.ContainsFunc(of, func(name string) bool { return !f.Sight.Channel(name) || !among(f.Channels, name) })
}

func (f *Filter) wantsType(e *posthouse.FeedEvent) bool {
	if len(f.Types) == 0 {
		return true
	}
	typ := e.Type()
	return slices.ContainsFunc(f.Types, func(want string) bool {
		rest, is := strings.CutPrefix(typ, want)
		return is && (rest == "" || rest[0] == '.')
	})
}

// CheckType returns what is wrong with a wanted type, or nothing.
func CheckType(want string) string {
	sort, what, more := strings.Cut(want, ".")
	switch {
	case sort == posthouse.OfCallback && (!more || what != ""):
		return ""
	case sort == posthouse.OfDelivery && (!more || slices.Contains(posthouse.States(), posthouse.State(what))):
		return ""
	case sort == posthouse.OfNotification && (!more || slices.Contains(posthouse.NotificationStates(), posthouse.NotificationState(what))):
		return ""
	case sort == posthouse.OfBudget && (!more || slices.Contains(posthouse.BudgetMarks(), posthouse.BudgetMark(what))):
		return ""
	}
	return fmt.Sprintf("is %.60q: want %s, %s, %s or %s, or one type of them, such as delivery.sent, notification.not_told, budget.warned or callback.template_card_event",
		want, posthouse.OfDelivery, posthouse.OfNotification, posthouse.OfBudget, posthouse.OfCallback)
}

// sortOf is the first word of an event's type.
func sortOf(e *posthouse.FeedEvent) string {
	sort, _, _ := strings.Cut(e.Type(), ".")
	return sort
}

func among[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }
