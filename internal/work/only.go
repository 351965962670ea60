package work

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse"
)

// Only lists the states of a thing that a write expects; the zero value expects any. The writer compares within its
// transaction, so that the thing cannot change between the comparison and the write.
type Only struct {
	// Tags are the states. None is any.
	Tags []string
	// There is for a thing that is there, in whatever state; New for one that is not.
	There, New bool
}

// Any reports whether a write is for any state.
func (o Only) Any() bool { return len(o.Tags) == 0 && !o.There && !o.New }

// Check is an error where a thing is not in the state that a write is for. The tag is empty for a thing that is not there.
func (o Only) Check(what, name, tag string) error {
	switch {
	case o.New && tag != "":
		return posthouse.Errorf(posthouse.CodeChanged, "there is a %s %q already", what, name)
	case tag == "" && (o.There || len(o.Tags) > 0):
		return posthouse.Errorf(posthouse.CodeChanged, "there is no %s %q any more", what, name)
	case len(o.Tags) > 0 && !slices.Contains(o.Tags, tag):
		return posthouse.Errorf(posthouse.CodeChanged, "the %s %q was changed since it was read: read it again, and decide anew", what, name)
	}
	return nil
}

// only is its place in a context.
type only struct{}

// WithOnly has writes on behalf of a caller be for some states alone.
func WithOnly(ctx context.Context, o Only) context.Context {
	return context.WithValue(ctx, only{}, o)
}

// OnlyOf returns the states that the write expects: any by default.
func OnlyOf(ctx context.Context) Only {
	o, _ := ctx.Value(only{}).(Only)
	return o
}
