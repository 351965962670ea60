package work

import (
	"context"

	"github.com/posthouse/posthouse"
)

// Payer is a key whose quota of open deliveries a caller's messages count against. The zero value is nobody's.
type Payer struct {
	Key  string // its id
	Open int    // how many may be open
	// MentionAll is how many of its messages a day may call everybody.
	MentionAll int
}

// payer is its place in a context.
type payer struct{}

// WithPayer says whose quota counts what is handed in on behalf of a caller.
func WithPayer(ctx context.Context, p Payer) context.Context {
	return context.WithValue(ctx, payer{}, p)
}

// PayerOf is whose quota counts what is handed in: nobody's, where nobody has said otherwise.
func PayerOf(ctx context.Context) Payer {
	p, _ := ctx.Value(payer{}).(Payer)
	return p
}

// quiet is the place in a context that says who may not call everybody.
type quiet struct{}

// Quietly says that a caller may not call everybody in a group.
func Quietly(ctx context.Context) context.Context { return context.WithValue(ctx, quiet{}, true) }

// IsQuiet reports whether a caller may not: whoever has no key, such as the program itself, may.
func IsQuiet(ctx context.Context) bool { return ctx.Value(quiet{}) != nil }

// MayMentionAll refuses what calls everybody by a field, on behalf of a caller who may not.
func MayMentionAll(ctx context.Context, field string) error {
	if !IsQuiet(ctx) {
		return nil
	}
	return posthouse.Errorf(posthouse.CodeForbidden, "%s calls everybody whom the channel reaches: the key needs the grant %s, or the scope admin", field, posthouse.GrantMentionAll)
}
