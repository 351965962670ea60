package api

import (
	"encoding/json"

	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// pageOf is a part of a list.
func pageOf[T any](items []T, next string, err error) (wire.Page[T], error) {
	if items == nil {
		items = []T{}
	}
	return wire.Page[T]{Items: items, Next: next}, err
}

// partsOf is a page that is bounded by bytes too.
func partsOf[T any](cursor string, limit int, part func(cursor string, limit int) ([]T, string, error)) (wire.Page[T], error) {
	return pageOf(read.Gather(cursor, limit, sizeOf[T], part))
}

// sizeOf is what an entry takes in an answer.
func sizeOf[T any](v *T) int {
	text, _ := json.Marshal(v) // what cannot be written fails when it is sent
	return len(text)
}

// wholeOf is a list that has no parts.
func wholeOf[T any](items []T, err error) (wire.Page[T], error) { return pageOf(items, "", err) }

// filterable is what lists of messages and deliveries are narrowed down by.
var filterable = []string{"channel", "kind", "ref", "user", "state", "since", "until", "cursor", "limit"}

// filterOf reads what lists of messages and deliveries are narrowed down by.
func filterOf(c *web.Call) (work.Filter, error) {
	f := work.Filter{
		Tenant: c.Tenant(), Channel: c.Query.Get("channel"), Kind: c.Query.Get("kind"), Ref: c.Query.Get("ref"), User: c.Query.Get("user"),
		States: c.States(), Since: c.Moment("since"), Until: c.Moment("until"), Cursor: c.Query.Get("cursor"), Limit: c.Number("limit", 1, web.MaxPage),
	}
	if !f.Until.IsZero() && !f.Until.After(f.Since) {
		c.Refuse("query.until", "must be later than since")
	}
	return f, c.Wrong()
}
