package verify

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify/scan"
	"github.com/posthouse/posthouse/internal/verify/words"
)

// grant is what is kept of a GrantLine.
type grant struct {
	at            int64 // ns
	want, granted int64
	back          int64 // of granted, given back later
	line          uint32
	windows       uint16 // of grants.windows
	refusedBy     int16
	refund        bool
}

// grants is the limiter's journal by key.
type grants struct {
	keys    map[string][]grant
	windows [][]posthouse.Limit
	byText  map[string]uint16
	last    int // requests that the last window of several refused
}

func readGrants(r io.Reader) (*grants, error) {
	g := &grants{keys: map[string][]grant{}, byText: map[string]uint16{}}
	err := eachLine(nameOf(r, "limiter journal"), r, func(s *scan.Line) error {
		key, one := g.scan(s)
		one.line = uint32(s.Row)
		if s.Err == nil {
			g.keys[key] = append(g.keys[key], one)
		}
		return nil
	})
	return g, err
}

// scan reads a GrantLine.
func (g *grants) scan(s *scan.Line) (key string, out grant) {
	var at time.Time
	var op string
	windows, refusedBy := -1, int64(-1)
	for s.Field() {
		switch string(s.Name) {
		case "at":
			at = s.Instant()
		case "key":
			key = s.Word()
		case "windows":
			windows = g.scanWindows(s)
		case "op":
			op = s.Word()
		case "want":
			out.want = int64(s.Int())
		case "granted":
			out.granted = int64(s.Int())
		case "refused_by":
			refusedBy = s.Number()
		default:
			s.Unknown()
		}
	}
	s.Require("at", !at.IsZero())
	s.Require("key", key != "")
	s.OneOf("op", op, OpTake, OpRefund)
	s.Need("windows", "want", "granted", "refused_by")
	if s.Err != nil {
		return key, out
	}
	list := g.windows[windows]
	s.Err = out.fault(op, refusedBy, len(list))
	out.at, out.windows, out.refusedBy, out.refund = at.UnixNano(), uint16(windows), int16(refusedBy), op == OpRefund
	if refusedBy >= 0 && int(refusedBy) == len(list)-1 {
		g.last++
	}
	return key, out
}

// fault says what of a request does not fit together.
func (g *grant) fault(op string, refusedBy int64, windows int) error {
	switch {
	case op == OpRefund && g.granted != 0:
		return fmt.Errorf("granted: it is %d, and a refund grants nothing", g.granted)
	case g.granted > g.want && op == OpTake:
		return fmt.Errorf("granted: %d are more than the %d that were wanted", g.granted, g.want)
	case refusedBy < -1 || refusedBy >= int64(windows):
		return fmt.Errorf("refused_by: %d is not -1 or the index of one of %d windows", refusedBy, windows)
	}
	return nil
}

// scanWindows numbers a list of windows.
func (g *grants) scanWindows(s *scan.Line) int {
	var raw json.RawMessage
	s.Value(&raw)
	if s.Err != nil {
		return -1
	}
	if n, ok := g.byText[string(raw)]; ok {
		return int(n)
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		s.Fail(err)
		return -1
	}
	if len(parts) == 0 {
		s.Fail(errors.New("it is empty, and something must be limited"))
	}
	list := make([]posthouse.Limit, len(parts))
	for i, part := range parts {
		var err error
		if list[i], err = scanWindow(part); err != nil {
			s.Fail(fmt.Errorf("[%d] %w", i, err))
			return -1
		}
	}
	g.byText[string(raw)] = uint16(len(g.windows))
	g.windows = append(g.windows, list)
	return len(g.windows) - 1
}

// scanWindow reads one window as strictly as a line.
func scanWindow(text []byte) (w posthouse.Limit, err error) {
	var s scan.Line
	s.Begin(text)
	for s.Field() {
		switch string(s.Name) {
		case "max":
			w.Max = s.Int()
		case "per":
			if err := w.Per.UnmarshalText(s.Bytes()); err != nil {
				s.Fail(err)
			}
		default:
			s.Unknown()
		}
	}
	s.Need("max", "per")
	if s.Err == nil && (w.Max < 1 || w.Per <= 0) {
		return w, fmt.Errorf("allows %d each %s; both must be above 0", w.Max, w.Per)
	}
	return w, s.Err
}

// judgeRates holds that no sliding window holds more than it may, and that what is refused is charged
// nowhere (I23).
func (c rating) judgeRates() {
	for _, key := range slices.Sorted(maps.Keys(c.grants.keys)) {
		list := c.grants.keys[key]
		slices.SortFunc(list, func(a, b grant) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.line, b.line)) })
		c.judgeRate(key, list, c.giveBack(key, list))
	}
}

// returned are permits that came back.
type returned struct {
	of int   // the grant
	at int64 // of the refund
	n  int64
}

// giveBack takes each refund off the latest grants before it, and holds that there are such grants (I23): else
// one that was never granted would make room for what is over a limit.
func (c rating) giveBack(key string, list []grant) (out []returned) {
	var stack []int // of grants that still have something to give back
	for i := range list {
		if !list[i].refund {
			stack = append(stack, i)
			continue
		}
		left := list[i].want
		for left > 0 && len(stack) > 0 {
			top := &list[stack[len(stack)-1]]
			n := min(left, top.granted-top.back)
			top.back, left = top.back+n, left-n
			out = append(out, returned{stack[len(stack)-1], list[i].at, n})
			if top.back == top.granted {
				stack = stack[:len(stack)-1]
			}
		}
		if left > 0 {
			c.fail(rate, key, c.grants.show(list[:i+1], c.grants.windows[list[i].windows][0]), "%s came back that had not been granted", words.Plural(int(left), "permit"))
		}
	}
	return out
}

// balance sums up what was granted and has not come back so far, by a tree of partial sums.
type balance struct {
	list []grant // in the order of time
	tree []int64
}

func newBalance(list []grant) balance {
	b := balance{list, make([]int64, len(list)+1)}
	for i := range list {
		b.add(i, list[i].granted)
	}
	return b
}

func (b balance) add(i int, n int64) {
	for i++; i < len(b.tree); i += i & -i {
		b.tree[i] += n
	}
}

// before is the sum of all grants until a time.
func (b balance) before(at int64) (n int64) {
	for i := sort.Search(len(b.list), func(i int) bool { return b.list[i].at > at }); i > 0; i -= i & -i {
		n += b.tree[i]
	}
	return n
}

func (b balance) within(after, until int64) int64 { return b.before(until) - b.before(after) }

// clock is how much later than the limiter the journal's writer may read it.
const clock = time.Millisecond

// jitter is how late a permit may come free: limits above 100 are counted in hundredths of their window.
func jitter(w posthouse.Limit) time.Duration {
	if w.Max <= 100 {
		return clock
	}
	return w.Per.Std()/100 + clock
}

// meter sums up what was granted in spans of time.
type meter struct {
	list []grant // in the order of time
	sums []int64 // before each
}

func newMeter(list []grant, of func(*grant) int64) meter {
	m := meter{list, make([]int64, len(list)+1)}
	for i := range list {
		m.sums[i+1] = m.sums[i] + of(&list[i])
	}
	return m
}

// within is how much was granted after one time and until another.
func (m meter) within(after, until int64) int64 {
	from := sort.Search(len(m.list), func(i int) bool { return m.list[i].at > after })
	to := sort.Search(len(m.list), func(i int) bool { return m.list[i].at > until })
	return m.sums[to] - m.sums[from]
}

// judgeRate judges the requests for one key. What comes back later makes no room before, and counts while it is
// asked whether a refusal was right.
func (c rating) judgeRate(key string, list []grant, back []returned) {
	net := newBalance(list)
	gross := newMeter(list, func(g *grant) int64 { return g.granted })
	for i := range list {
		g := &list[i]
		if g.refund {
			continue
		}
		c.checked(rate, 1)
		for len(back) > 0 && back[0].at <= g.at+int64(c.slack)+int64(clock) {
			net.add(back[0].of, -back[0].n)
			back = back[1:]
		}
		windows := c.grants.windows[g.windows]
		for _, w := range windows {
			n := net.within(g.at-int64(w.Per), g.at)
			if g.granted > 0 && n > int64(w.Max) {
				c.fail(rate, key, c.grants.show(list[:i+1], w), "%d were granted within %s, %d are allowed", n, w.Per, w.Max)
				break
			}
		}
		if g.refusedBy >= 0 && g.granted < g.want {
			w := windows[g.refusedBy]
			slow := int64(jitter(w))
			if n := gross.within(g.at-int64(w.Per)-slow, g.at+slow); n < int64(w.Max) {
				c.fail(rate, key, c.grants.show(list[i:i+1], w), "a request was refused although its window of %s held only %d of %d: something was charged that was not granted", w.Per, n, w.Max)
			}
		}
	}
}

// show is a proof: the requests of a window that ends with the last of the list, the first and the
// last few of them.
func (g *grants) show(list []grant, w posthouse.Limit) func() []string {
	const most = 8
	return func() []string {
		end := list[len(list)-1].at
		var in []grant
		for _, one := range list {
			if one.at > end-int64(w.Per) && (one.granted > 0 || one.line == list[len(list)-1].line) {
				in = append(in, one)
			}
		}
		var out []string
		for i := range in {
			if len(in) > most && i >= most/2 && i < len(in)-most/2 {
				if i == most/2 {
					out = append(out, fmt.Sprintf("… %d more", len(in)-most))
				}
				continue
			}
			out = append(out, fmt.Sprintf("%s  limiter line %d: wanted %d, granted %d", stampText(time.Unix(0, in[i].at)), in[i].line, in[i].want, in[i].granted))
		}
		return out
	}
}
