package work

import (
	"context"
	"slices"
)

// Sight is what a caller whose key is narrowed sees and touches: deliveries of some channels, of messages of some kinds.
// An empty list is all of them.
type Sight struct{ Channels, Kinds []string }

// Whole reports whether nothing is hidden.
func (s Sight) Whole() bool { return len(s.Channels)+len(s.Kinds) == 0 }

// Channel reports whether the caller sees a channel.
func (s Sight) Channel(name string) bool {
	return len(s.Channels) == 0 || slices.Contains(s.Channels, name)
}

// Kind reports whether the caller sees messages of a kind.
func (s Sight) Kind(kind string) bool { return len(s.Kinds) == 0 || slices.Contains(s.Kinds, kind) }

// Covers reports whether the caller sees a message of this channel and kind.
func (s Sight) Covers(channel, kind string) bool { return s.Channel(channel) && s.Kind(kind) }

// sight is its place in a context.
type sight struct{}

// WithSight narrows what is seen and touched on behalf of a caller.
func WithSight(ctx context.Context, s Sight) context.Context {
	return context.WithValue(ctx, sight{}, s)
}

// SightOf is what the caller sees: everything, where nobody has said otherwise. The roles that work by themselves see all.
func SightOf(ctx context.Context) Sight {
	s, _ := ctx.Value(sight{}).(Sight)
	return s
}
