package work

import "slices"

// Sight is what a caller sees and touches: deliveries of some channels, of messages of some kinds. The zero value sees nothing,
// so that a call that forgets to say what its caller sees shows nothing.
type Sight struct {
	// Sees is false where nothing is seen, whatever the lists have.
	Sees bool
	// Channels and Kinds narrow what is seen. An empty list is all of them.
	Channels, Kinds []string
}

// SeeAll is the sight of the program itself, and of a key that is not narrowed.
func SeeAll() Sight { return Sight{Sees: true} }

// See is the sight of a caller that is narrowed to channels and kinds. An empty list is all of them.
func See(channels, kinds []string) Sight { return Sight{Sees: true, Channels: channels, Kinds: kinds} }

// Whole reports whether nothing is hidden.
func (s Sight) Whole() bool { return s.Sees && len(s.Channels)+len(s.Kinds) == 0 }

// Channel reports whether the caller sees a channel.
func (s Sight) Channel(name string) bool {
	return s.Sees && (len(s.Channels) == 0 || slices.Contains(s.Channels, name))
}

// Kind reports whether the caller sees messages of a kind.
func (s Sight) Kind(kind string) bool {
	return s.Sees && (len(s.Kinds) == 0 || slices.Contains(s.Kinds, kind))
}

// Covers reports whether the caller sees a message of this channel and kind.
func (s Sight) Covers(channel, kind string) bool { return s.Channel(channel) && s.Kind(kind) }

// Viewer is a caller that reads: one of a tenant, who sees a part of it. The zero value sees nothing.
type Viewer struct {
	Tenant string
	Sight  Sight
}
