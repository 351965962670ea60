package api

import (
	"encoding/json"
	"slices"

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

// paged answers the page of a list that the caller asks for, bounded by bytes too.
func paged[T any](c *web.Call, part func(cursor string, limit int) ([]T, string, error)) (wire.Page[T], error) {
	cursor, limit, err := c.Page()
	if err != nil {
		return wire.Page[T]{}, err
	}
	return partsOf(cursor, limit, part)
}

// everyOf visits a list to its end.
func everyOf[T any](part func(cursor string) ([]T, string, error), visit func(*T) error) error {
	for cursor := ""; ; {
		list, next, err := part(cursor)
		if err != nil {
			return err
		}
		for i := range list {
			if err := visit(&list[i]); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

// shortPart is a part of a list that is whole in memory and short, by a key that ascends.
func shortPart[T any](list []T, key func(*T) string, cursor string, limit int) ([]T, string, error) {
	from := slices.IndexFunc(list, func(v T) bool { return key(&v) > cursor })
	if from < 0 {
		return nil, "", nil
	}
	list = list[from:]
	if len(list) <= limit {
		return list, "", nil
	}
	return list[:limit], key(&list[limit-1]), nil
}

// wholeOf is a list that has no parts: one of a few entries, whoever writes them.
func wholeOf[T any](items []T, err error) (wire.Page[T], error) { return pageOf(items, "", err) }

// filterable is what lists of messages and deliveries are narrowed down by.
var filterable = []string{"channel", "kind", "ref", "user", "account", "state", "since", "until", "cursor", "limit"}

// stoppable is what lists of deliveries are narrowed down by beside that.
var stoppable = []string{"reason", "known_as", "priority"}

// mostLooked bounds how many rows a page of a list goes through where no index answers its filter: on MariaDB some 3 µs each, of the 100 ms that
// a page may take.
const mostLooked = 10_000

// filterOf reads what lists of messages and deliveries are narrowed down by.
func filterOf(c *web.Call) (work.Filter, error) {
	f := work.Filter{
		Tenant: c.Tenant(), Sight: c.Sight(), Channel: c.Query.Get("channel"), Kind: c.Query.Get("kind"), Ref: c.Query.Get("ref"), User: c.Query.Get("user"), Account: c.Query.Get("account"),
		States: c.States(), Since: c.Moment("since"), Until: c.Moment("until"), Cursor: c.Query.Get("cursor"), Limit: c.Number("limit", 1, web.MaxPage),
	}
	if !f.Until.IsZero() && !f.Until.After(f.Since) {
		c.Refuse("query.until", "must be later than since")
	}
	return f, c.Wrong()
}
