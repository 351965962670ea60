package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// All goes through a list page by page:
//
//	for d, err := range client.All(ctx, c.Deliveries.List, client.Filter{Channel: "oa"}) { … }
//
// It ends after the first error.
func All[T any](ctx context.Context, list func(context.Context, Filter) (wire.Page[T], error), f Filter) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			page, err := list(ctx, f)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			f.Cursor = page.Next
		}
	}
}

// whole reads a list to its end.
func whole[T any](ctx context.Context, c *caller, at string) ([]T, error) {
	list := []T{}
	f := Filter{Limit: most}
	for one, err := range All(ctx, func(ctx context.Context, f Filter) (wire.Page[T], error) {
		return get[wire.Page[T]](ctx, c, at, f.query())
	}, f) {
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// most is how many entries a page may have.
const most = 1000

func (f Filter) query() url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("channel", f.Channel)
	set("kind", f.Kind)
	set("ref", f.Ref)
	set("user", f.User)
	set("account", f.Account)
	set("reason", f.Reason)
	set("known_as", f.KnownAs)
	set("person", f.Person)
	set("route", f.Route)
	if f.Held {
		q.Set("held", "true")
	}
	set("priority", string(f.Priority))
	set("state", joined(f.States))
	set("since", stamp(f.Since))
	set("until", stamp(f.Until))
	set("cursor", f.Cursor)
	if f.Limit > 0 {
		set("limit", strconv.Itoa(f.Limit))
	}
	return q
}

func joined(states []posthouse.State) string {
	words := make([]string, len(states))
	for i, s := range states {
		words[i] = string(s)
	}
	return strings.Join(words, ",")
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
