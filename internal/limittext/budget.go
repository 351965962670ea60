package limittext

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// Budget reads a budget as its String writes it; an empty text is none. The error says what is wanted; whether the numbers make sense it
// does not say.
func Budget(text string) (*posthouse.Budget, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	b, err := readBudget(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("%.80q is not a budget such as 20000/month, 500/day@Asia/Shanghai or 20000/month/when_spent=high_priority/reserve=2000", text)
	}
	return b, nil
}

func readBudget(text string) (b *posthouse.Budget, err error) {
	b = &posthouse.Budget{}
	text, zone, _ := strings.Cut(text, "@")
	parts := strings.Split(text, "/")
	for _, part := range strings.Split(zone, "/") { // options may follow the zone, too
		if strings.Contains(part, "=") {
			parts = append(parts, part)
		} else {
			b.TimeZone = strings.TrimPrefix(b.TimeZone+"/"+part, "/")
		}
	}
	if len(parts) < 2 {
		return nil, errors.New("no period")
	}
	if b.Max, err = strconv.Atoi(parts[0]); err != nil {
		return nil, err
	}
	if b.Per = posthouse.BudgetPeriod(parts[1]); !b.Per.Valid() {
		return nil, errors.New("no period")
	}
	for _, option := range parts[2:] {
		switch name, value, _ := strings.Cut(option, "="); name {
		case "when_spent":
			if b.WhenSpent = posthouse.WhenSpent(value); !b.WhenSpent.Valid() {
				err = errors.New("unknown")
			}
		case "reserve":
			b.Reserve, err = strconv.Atoi(value)
		case "warn_at":
			b.WarnAt, err = strconv.ParseFloat(value, 64)
		default:
			err = errors.New("unknown")
		}
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// BudgetText is what Budget reads.
func BudgetText(b *posthouse.Budget) string {
	if b == nil {
		return ""
	}
	return b.String()
}
