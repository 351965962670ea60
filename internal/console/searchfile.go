package console

import (
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
)

// saveFound writes all that a search finds, on every page of it, as a CSV without formulas.
func saveFound(v *visit) error {
	f, err := asked(v)
	if err != nil {
		return err
	}
	if f.Found, err = seeker(v).Find(v.ctx(), f.Question, ""); err != nil { // what cannot be asked for is told on a page, before the file begins
		return err
	}
	head := []string{"id", "message", "channel", "user", "address", "account", "state", "reason", "last_error", "attempts", "provider_ref", "created_at", "updated_at"}
	w := downloadOf(v, "deliveries.csv")
	return w.end(web.Listed(true, head, func(each func(posthouse.Delivery) error) error {
		return seeker(v).Every(v.ctx(), f.Question, f.Found, each)
	}, cellsOf).Write(w))
}

func cellsOf(d posthouse.Delivery) []string {
	return []string{d.ID, d.Message, d.Channel, d.User, d.Address, d.Account, string(d.State), d.Reason, d.Error, strconv.Itoa(d.Attempts), d.ProviderRef, d.CreatedAt.UTC().Format(time.RFC3339Nano), d.UpdatedAt.UTC().Format(time.RFC3339Nano)}
}
