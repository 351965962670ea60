package remind

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

// cron says when the moments of a cron expression are. The library finds the walls, times as clocks show them; what clocks
// show when they are set is decided here, as it is for daily times.
type cron struct {
	expression string
	hourly     bool // its hour is *: it follows the time that passes, not what clocks show
	zone       *time.Location
}

// cronField is what a field may be written with.
var cronField = regexp.MustCompile(`^[0-9A-Za-z*,/#-]+$`)

// cronExample ends what is said of an expression that is none.
const cronExample = `such as "0 9 * * 1-5", 09:00 from Monday to Friday`

// maxCron bounds an expression, in bytes.
const maxCron = 255

// newCron reads an expression of five fields. What is wrong with it is said as of a field.
func newCron(expression string, zone *time.Location) (*cron, error) {
	if len(expression) > maxCron {
		return nil, fmt.Errorf("has %d bytes: at most %d are allowed", len(expression), maxCron)
	}
	fields := strings.Fields(expression)
	if len(fields) != 5 {
		return nil, fmt.Errorf("is %.80q: want five fields, minute, hour, day of the month, month and day of the week, %s", expression, cronExample)
	}
	for _, field := range fields {
		if !cronField.MatchString(field) {
			return nil, fmt.Errorf("has the field %.60q, which is none of cron: want five fields, %s", field, cronExample)
		}
	}
	c := &cron{strings.Join(fields, " "), fields[1] == "*", zone}
	if !gronx.IsValid(c.expression) {
		return nil, fmt.Errorf("is %.80q, which is no cron expression: want five fields, %s", expression, cronExample)
	}
	return c, nil
}

// span is a field of an expression: what it is called, and how many values it has.
type span struct {
	name   string
	values int
}

// spans are the fields in their order.
var spans = [5]span{{"minute", 60}, {"hour", 24}, {"day of the month", 31}, {"month", 12}, {"day of the week", 7}}

// stepBeyond says that a step of a field goes beyond its values. The library takes it, and all but the first value is passed over without a word:
// */90 of the minute comes each hour, not each 90 minutes.
func (c *cron) stepBeyond() error {
	for i, field := range strings.Fields(c.expression) {
		for _, part := range strings.Split(field, ",") {
			from, by, _ := strings.Cut(part, "/")
			step, err := strconv.Atoi(by)
			if most := valuesOf(from, spans[i].values); err == nil && step > most {
				return fmt.Errorf(`has %.60q for the %s: a step of %s goes beyond its %d values, and the first alone would count; want a step of at most %d, such as "*/15 * * * *", each 15 minutes`, part, spans[i].name, by, most, most)
			}
		}
	}
	return nil
}

// valuesOf is how many values a part of a field has: those from 10 to 20, or all.
func valuesOf(part string, all int) int {
	first, last, ranged := strings.Cut(part, "-")
	from, err := strconv.Atoi(first)
	to, errTo := strconv.Atoi(last)
	if !ranged || err != nil || errTo != nil {
		return all
	}
	return to - from + 1
}

// tick is the first wall after another.
func (c *cron) tick(wall time.Time) (time.Time, bool) {
	next, err := gronx.NextTickAfter(c.expression, wall, false)
	return next, err == nil && next.After(wall)
}

// next is the first moment after a time. A time that a change of clocks leaves out comes at the first moment after the gap; one
// that comes twice counts once, the first time. Where the hour is *, each moment counts at which clocks show what is asked for.
func (c *cron) next(after time.Time) (time.Time, bool) {
	if c.hourly {
		return c.nextHourly(after)
	}
	wall := wallOf(after, c.zone)
	for {
		next, ok := c.tick(wall)
		if !ok {
			return time.Time{}, false
		}
		if at := localTime(next, c.zone); at.After(after) {
			return at, true
		}
		wall = next
	}
}

// mostChanges bounds over how many changes of clocks a moment is looked for: what is named once in eight years, on the 29th
// of February, crosses sixteen, or some more where clocks are set for Ramadan too.
const mostChanges = 64

func (c *cron) nextHourly(after time.Time) (time.Time, bool) {
	for range mostChanges {
		// ZoneBounds are of the time itself; the end is the first moment of the next offset.
		_, end := after.In(c.zone).ZoneBounds()
		next, ok := c.tick(wallOf(after, c.zone))
		if !ok {
			return time.Time{}, false
		}
		if at := next.Add(-offset(after, c.zone)); end.IsZero() || at.Before(end) {
			return at, true
		}
		if c.due(wallOf(end, c.zone)) {
			return end.UTC(), true
		}
		after = end
	}
	return time.Time{}, false
}

// due reports whether a wall is one of the expression's.
func (c *cron) due(wall time.Time) bool {
	due, err := gronx.New().IsDue(c.expression, wall)
	return err == nil && due
}

// wallOf is what the clocks of a zone show at a time, as if in UTC.
func wallOf(t time.Time, zone *time.Location) time.Time {
	return t.UTC().Add(offset(t, zone))
}

// Cron reads a cron expression whose clock stands in a zone. next is the first of its moments after a time; false says that there is none.
func Cron(expression string, zone *time.Location) (next func(after time.Time) (time.Time, bool), err error) {
	c, err := newCron(expression, zone)
	if err != nil {
		return nil, err
	}
	return c.next, nil
}

// CheckCron says what is wrong with a cron expression that is to be stored, whose moments count from a time. What it refuses and Cron takes was stored
// before: that goes on as it did.
func CheckCron(expression string, zone *time.Location, from time.Time) error {
	c, err := newCron(expression, zone)
	if err != nil {
		return err
	}
	if err := c.stepBeyond(); err != nil {
		return err
	}
	if _, comes := c.next(from); !comes {
		return fmt.Errorf("is %.80q, which never comes: no date has this day and month; want five fields, %s", expression, cronExample)
	}
	return nil
}
