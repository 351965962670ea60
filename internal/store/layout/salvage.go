package layout

import (
	"database/sql"
	"errors"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// Salvaged is a delivery as far as its row can be read, and what is wrong with it.
type Salvaged struct {
	Delivery posthouse.Delivery
	Wrong    string // empty where nothing is
}

// SalvageDelivery is ReadDelivery for a row of which ReadDelivery may understand nothing: what cannot be read stays empty.
func SalvageDelivery(scan sqldb.Scanner) (s Salvaged, err error) {
	raw, into := make([]any, len(Queue.Columns)), make([]any, len(Queue.Columns))
	for i := range raw {
		into[i] = &raw[i]
	}
	if err := scan(into...); err != nil {
		return s, err
	}
	s.Delivery, err = ReadDelivery(func(fields ...any) error {
		for i, field := range fields {
			if err := assign(field, raw[i]); err != nil && s.Wrong == "" {
				s.Wrong = Queue.Columns[i] + ": " + err.Error()
			}
		}
		return nil
	})
	return s, err
}

// assign sets a field of a number or of text to what a column holds.
func assign(field, value any) error {
	if value == nil {
		return errors.New("there is nothing in it")
	}
	to := reflect.ValueOf(field).Elem()
	if to.Kind() == reflect.String {
		var text sql.NullString
		err := text.Scan(value)
		to.SetString(text.String)
		return err
	}
	var number sql.NullInt64
	err := number.Scan(value)
	to.SetInt(number.Int64)
	return err
}
