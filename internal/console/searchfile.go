package console

import (
	"slices"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/web"
)

// saveFound writes all that a search finds, on every page of it, as a CSV without formulas.
func saveFound(v *visit) error {
	f := asked(v)
	if err := v.search(&f); err != nil { // what cannot be asked for is told on a page, before the file begins
		return err
	}
	head := []string{"id", "message", "channel", "user", "address", "account", "state", "reason", "last_error", "attempts", "provider_ref", "created_at", "updated_at"}
	w := downloadOf(v, "deliveries.csv")
	return w.end(web.Listed(true, head, func(each func(posthouse.Delivery) error) error { return everyFound(v, &f, each) }, cellsOf).Write(w))
}

func cellsOf(d posthouse.Delivery) []string {
	return []string{d.ID, d.Message, d.Channel, d.User, d.Address, d.Account, string(d.State), d.Reason, d.Error, strconv.Itoa(d.Attempts), d.ProviderRef, d.CreatedAt.UTC().Format(time.RFC3339Nano), d.UpdatedAt.UTC().Format(time.RFC3339Nano)}
}

// everyFound reads what a search finds, each delivery once: by user, and then by the ref those of nobody who was among them.
func everyFound(v *visit, f *found, each func(posthouse.Delivery) error) error {
	filter := f.filter()
	if f.Asked == "" {
		return every(v, filter, each)
	}
	users := []string{f.Asked}
	for _, u := range f.Users {
		users = append(users, u.ID)
	}
	for _, user := range users {
		of := filter
		of.User = user
		if err := every(v, of, each); err != nil {
			return err
		}
	}
	of, ok := f.byRef(filter)
	if !ok {
		return nil
	}
	err := every(v, of, func(d posthouse.Delivery) error {
		if slices.Contains(users, d.User) {
			return nil
		}
		return each(d)
	})
	if posthouse.CodeOf(err) == posthouse.CodeInvalid {
		return nil // the words are no ref: the page finds nothing by them either
	}
	return err
}

// every reads all pages of what a filter selects.
func every(v *visit, filter client.Filter, each func(posthouse.Delivery) error) error {
	filter.Limit = web.MaxPage
	for {
		page, err := v.call().Deliveries.List(v.ctx(), filter)
		if err != nil {
			return err
		}
		for _, d := range page.Items {
			if err := each(d); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		filter.Cursor = page.Next
	}
}
