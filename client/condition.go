package client

import "context"

// condition is its place in a context.
type condition struct{}

// header is one of a request.
type header struct{ name, value string }

// IfMatch is a context for one call that stores what was read before and changed since: it is stored where nobody else
// has stored the thing meanwhile, and is an error of posthouse.CodeChanged otherwise. The tag is what Tag says of the thing
// that was read.
//
// A call that is repeated because its answer was lost finds its own change, and says so by the same error.
func IfMatch(ctx context.Context, tag string) context.Context {
	return context.WithValue(ctx, condition{}, header{"If-Match", `"` + tag + `"`})
}

// IfNew is a context for one call that stores a thing where there is none of its name, and is an error of
// posthouse.CodeChanged otherwise.
func IfNew(ctx context.Context) context.Context {
	return context.WithValue(ctx, condition{}, header{"If-None-Match", "*"})
}
