package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// shapes reads how fast what is of a priority may begin: [TENANT/]PRIORITY=NUMBER/DURATION[:BURST], with commas between.
func shapes(to *posthouse.Shapes, v string) error {
	out := posthouse.Shapes{}
	for part := range strings.SplitSeq(v, ",") {
		whose, rate, ok := strings.Cut(strings.TrimSpace(part), "=")
		tenant, priority, named := strings.Cut(whose, "/")
		if !named {
			tenant, priority = posthouse.EveryTenant, whose
		}
		p := posthouse.Priority(priority)
		of, err := shapeOf(rate)
		switch {
		case !ok || tenant == "":
			return fmt.Errorf("%q is not a shape such as low=200/1s, low=200/1s:500 or acme/low=50/1s", part)
		case !p.Valid():
			return fmt.Errorf("%q is not a priority: want high, normal or low", priority)
		case err != nil:
			return err
		}
		if _, twice := out[tenant][p]; twice {
			return fmt.Errorf("%q is given twice", whose)
		}
		if out[tenant] == nil {
			out[tenant] = map[posthouse.Priority]posthouse.Shape{}
		}
		out[tenant][p] = of
	}
	*to = out
	return nil
}

// unlimited lets all of a priority begin at once.
const unlimited = "unlimited"

// mostAtOnce bounds a burst, and what begins in a period.
const mostAtOnce = 1_000_000_000

func shapeOf(v string) (of posthouse.Shape, err error) {
	if v == unlimited {
		return of, nil
	}
	rate, burst, given := strings.Cut(v, ":")
	number, per, ok := strings.Cut(rate, "/")
	n, err := strconv.Atoi(number)
	var d posthouse.Duration
	if !ok || err != nil || n < 1 || n > mostAtOnce || d.UnmarshalText([]byte(per)) != nil || d <= 0 {
		return of, fmt.Errorf("%q is not a rate such as 200/1s or 600/1m, nor %s", rate, unlimited)
	}
	of.Rate = float64(n) / d.Std().Seconds()
	if !given {
		return of, nil
	}
	if of.Burst, err = strconv.Atoi(burst); err != nil || of.Burst < 1 || of.Burst > mostAtOnce {
		return of, fmt.Errorf("%q is not how many may begin at once: want a number above zero", burst)
	}
	return of, nil
}
