package limittext

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// Budget reads a budget as its String writes it; an empty text is none. The error names the part that is wrong; whether the numbers make
// sense it does not say.
func Budget(text string) (*posthouse.Budget, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	b := &posthouse.Budget{}
	text, zone, zoned := strings.Cut(text, "@")
	parts := strings.Split(text, "/")
	for _, part := range strings.Split(zone, "/") { // options may follow the zone, too
		if strings.Contains(part, "=") {
			parts = append(parts, part)
		} else {
			b.TimeZone = strings.TrimPrefix(b.TimeZone+"/"+part, "/")
		}
	}
	var err error
	if b.Max, err = strconv.Atoi(parts[0]); err != nil {
		return nil, fmt.Errorf("begins with %.80q: want a whole number of messages, such as 20000/month", parts[0])
	}
	if len(parts) < 2 {
		return nil, fmt.Errorf("is %.80q, which names no period: want day or month behind the number, such as %d/month", text, b.Max)
	}
	if b.Per = posthouse.BudgetPeriod(parts[1]); !b.Per.Valid() {
		return nil, fmt.Errorf("has the period %.80q: want day or month, such as %d/month", parts[1], b.Max)
	}
	if zoned && b.TimeZone == "" {
		return nil, errors.New("has nothing behind @: want a time zone, such as 500/day@Asia/Shanghai")
	}
	for _, part := range parts[2:] {
		if err := budgetOption(b, part); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// budgetOption reads an option such as reserve=2000.
func budgetOption(b *posthouse.Budget, option string) (err error) {
	name, value, _ := strings.Cut(option, "=")
	switch name {
	case "when_spent":
		if b.WhenSpent = posthouse.WhenSpent(value); value == "" || !b.WhenSpent.Valid() {
			return fmt.Errorf("has when_spent %.80q: want wait, high_priority or next_account, such as 500/day/when_spent=wait", value)
		}
	case "reserve":
		if b.Reserve, err = strconv.Atoi(value); err != nil {
			return fmt.Errorf("has reserve %.80q: want a whole number of messages, such as 20000/month/when_spent=high_priority/reserve=2000", value)
		}
	case "warn_at":
		if b.WarnAt, err = strconv.ParseFloat(value, 64); err != nil {
			return fmt.Errorf("has warn_at %.80q: want a share from 0 to 1, such as 500/day/warn_at=0.9", value)
		}
	default:
		return fmt.Errorf("has the option %.80q: want when_spent, reserve or warn_at, such as 20000/month/when_spent=high_priority/reserve=2000", option)
	}
	return nil
}

// BudgetText is what Budget reads.
func BudgetText(b *posthouse.Budget) string {
	if b == nil {
		return ""
	}
	return b.String()
}
