package verify

import (
	"cmp"
	"io"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/posthouse/posthouse/internal/verify/scan"
)

// faults is the fault journal, sorted by the faults' ends.
type faults struct {
	list     []FaultLine // without those of the kind seen
	seen     map[string]int
	restores []span
	resumed  []int64 // of list: the first success after a fault's end and before the next one's, ns
}

// span is a part of time, both ends included, ns.
type span struct{ from, to int64 }

func readFaults(r io.Reader) (*faults, error) {
	f := &faults{seen: map[string]int{}}
	err := eachLine(nameOf(r, "fault journal"), r, func(s *scan.Line) error {
		l := scanFault(s)
		if l.Kind == FaultSeen {
			f.seen[l.Note] += l.N
		} else {
			f.list = append(f.list, l)
		}
		return s.Err
	})
	slices.SortFunc(f.list, func(a, b FaultLine) int { return a.end().Compare(b.end()) })
	f.resumed = make([]int64, len(f.list))
	for i := range f.list {
		f.resumed[i] = math.MaxInt64
		if f.list[i].Kind == FaultRestore {
			f.restores = append(f.restores, span{f.list[i].At.UnixNano(), f.list[i].end().UnixNano()})
		}
	}
	return f, err
}

func scanFault(s *scan.Line) (l FaultLine) {
	for s.Field() {
		switch string(s.Name) {
		case "at":
			l.At = s.Instant()
		case "until":
			l.Until = s.Instant()
		case "kind":
			l.Kind = s.Word()
		case "target":
			l.Target = s.Word()
		case "note":
			l.Note = s.Word()
		case "n":
			l.N = s.Int()
		default:
			s.Unknown()
		}
	}
	s.Require("at", !l.At.IsZero())
	s.Require("kind", l.Kind != "")
	if s.Has("until") {
		s.Ordered("at", l.At, "until", l.Until)
	}
	if l.Kind == FaultSeen {
		if !s.Has("n") {
			l.N = 1
		}
		s.OneOf("note", l.Note, sometimesNames()...)
	}
	return l
}

// end is when the fault was over.
func (l *FaultLine) end() time.Time {
	if l.Until.IsZero() {
		return l.At
	}
	return l.Until
}

// success notes that a delivery was sent.
func (f *faults) success(at int64) {
	if f == nil || len(f.list) == 0 {
		return
	}
	i := sort.Search(len(f.list), func(i int) bool { return f.list[i].end().UnixNano() > at }) - 1
	if i >= 0 {
		f.resumed[i] = min(f.resumed[i], at)
	}
}

// undone reports whether a restore has undone what happened at a time.
func (f *faults) undone(at int64, slack time.Duration) bool {
	if f == nil {
		return false
	}
	for _, s := range f.restores {
		if at >= s.from-int64(slack) && at <= s.to {
			return true
		}
	}
	return false
}

// recovery says for each kind of fault how long it took until something was sent again.
func (f *faults) recovery() []Recovery {
	if f == nil {
		return nil
	}
	waits := map[string][]time.Duration{}
	never := map[string]int{}
	next := int64(math.MaxInt64) // the first success after the end of fault i
	for i := len(f.list) - 1; i >= 0; i-- {
		l := &f.list[i]
		next = min(next, f.resumed[i])
		if next == math.MaxInt64 {
			never[l.Kind]++
			waits[l.Kind] = append(waits[l.Kind], -1)
			continue
		}
		waits[l.Kind] = append(waits[l.Kind], time.Duration(next-l.end().UnixNano()))
	}
	var out []Recovery
	for kind, list := range waits {
		r := Recovery{Kind: kind, Faults: len(list), Never: never[kind]}
		list = slices.DeleteFunc(list, func(d time.Duration) bool { return d < 0 })
		if slices.Sort(list); len(list) > 0 {
			r.P50, r.P99, r.Max = quantile(list, 0.5), quantile(list, 0.99), list[len(list)-1]
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Recovery) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}

// quantile is the smallest value that so large a share of a sorted list does not exceed.
func quantile(list []time.Duration, share float64) time.Duration {
	return list[max(0, int(math.Ceil(share*float64(len(list))))-1)]
}
