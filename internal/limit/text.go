package limit

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// format opens the text of a state; another way to write it gets another letter.
const format = "a"

// MarshalText writes the state in letters, digits, - and _: about 1.5 KiB for four
// full windows, 2.2 KiB at most. The zero State is the empty text.
//
// The text is base64 of varints: the latest time, then each window's length,
// step and number of runs, then each run's distance from the one before, in
// steps, and its count.
func (s *State) MarshalText() ([]byte, error) {
	if s.latest == 0 && len(s.windows) == 0 {
		return []byte{}, nil
	}
	raw := binary.AppendVarint(make([]byte, 0, 512), s.latest)
	for _, w := range s.windows {
		raw = binary.AppendUvarint(raw, uint64(w.per))
		raw = binary.AppendUvarint(raw, uint64(w.step))
		raw = binary.AppendUvarint(raw, uint64(len(w.runs)))
		last := ceil(s.latest, w.step) / w.step
		for _, r := range w.runs {
			raw = binary.AppendVarint(raw, r.stamp/w.step-last)
			raw = binary.AppendUvarint(raw, uint64(r.n))
			last = r.stamp / w.step
		}
	}
	return base64.RawURLEncoding.AppendEncode([]byte(format), raw), nil
}

// UnmarshalText reads what MarshalText wrote. Anything else is an error and
// leaves the state as it was.
func (s *State) UnmarshalText(text []byte) error {
	read, err := decode(string(text))
	if err != nil {
		return fmt.Errorf("read limit state: %w", err)
	}
	*s = read
	return nil
}

func decode(text string) (State, error) {
	if text == "" {
		return State{}, nil
	}
	body, ok := strings.CutPrefix(text, format)
	if !ok {
		return State{}, fmt.Errorf("it does not begin with %q", format)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if err != nil {
		return State{}, err
	}
	r := reader{rest: raw}
	s := State{latest: r.number(-maxTime, maxTime)}
	s.granted = s.latest
	for r.err == nil && len(r.rest) > 0 {
		s.windows = append(s.windows, r.window(s.latest))
		if len(s.windows) > maxWindows {
			return State{}, errors.New("it has too many windows")
		}
	}
	return s, r.err
}

const (
	// maxTime is the year 11,000 or so in µs: room to add any window to it.
	maxTime = int64(1) << 58
	// maxRuns is far above the slots+1 runs that a window holds.
	maxRuns = 4 * slots
)

var errBounds = errors.New("it is cut off or holds a number out of bounds")

// reader takes varints from a slice until it errs; after that all are 0.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) window(latest int64) window {
	var w window
	w.per = r.count(1, maxPer.Microseconds())
	w.step = r.count(1, max(1, w.per))
	runs := int(r.count(0, maxRuns))
	if r.err != nil {
		return window{}
	}
	w.runs = make([]run, 0, runs+1) // one more, as most are taken from at once
	last, most := ceil(latest, w.step)/w.step, maxTime/w.step
	least := -most // of the distance: only the first may be before the latest time
	for range runs {
		last += r.number(least, most)
		n := int(r.count(1, maxMax))
		if last < -most || last > most {
			r.err = errBounds
		}
		if r.err != nil {
			break
		}
		w.runs = append(w.runs, run{last * w.step, n})
		w.sum += n
		least = 1
	}
	return w
}

func (r *reader) number(low, high int64) int64 {
	v, k := binary.Varint(r.rest)
	return r.took(v, k, low, high)
}

func (r *reader) count(low, high int64) int64 {
	v, k := binary.Uvarint(r.rest)
	if v > math.MaxInt64 {
		k = 0
	}
	return r.took(int64(v), k, low, high)
}

func (r *reader) took(v int64, k int, low, high int64) int64 {
	if r.err == nil && (k <= 0 || v < low || v > high) {
		r.err = errBounds
	}
	if r.err != nil {
		return 0
	}
	r.rest = r.rest[k:]
	return v
}
