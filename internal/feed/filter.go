package feed

import (
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Filter says which events somebody wants. An empty list is all of them.
type Filter struct {
	// Tenant is the only one whose events are seen; empty for a program that embeds the server.
	Tenant                string
	Sight                 work.Sight
	Channels, Kinds, Refs []string
	States                []posthouse.State
}

// Wants reports whether an event passes.
func (f *Filter) Wants(e *posthouse.StatusEvent) bool {
	return (f.Tenant == "" || f.Tenant == e.Tenant) && f.Sight.Covers(e.Channel, e.Kind) &&
		among(f.Channels, e.Channel) && among(f.Kinds, e.Kind) && among(f.Refs, e.Ref) && among(f.States, e.To)
}

func among[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }
