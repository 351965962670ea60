package api

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
)

// streams shares out the requests that stay open: a key has a quarter of them at most, a tenant a half. Where one of these is used up, or
// all are, who has the most of them ends one for a newcomer that has fewer, so that nobody is shut out by another's.
type streams struct {
	most     int
	refusals web.Refusals

	mu   sync.Mutex
	open []*stream // the oldest first
}

// stream is one that is open.
type stream struct {
	tenant, key string
	end         context.CancelCauseFunc
}

// usualStreams bounds those of one process.
const usualStreams = 500

// errOutcrowded is why a stream ends that makes room.
var errOutcrowded = errors.New("others wait for a stream: come again")

func newStreams(most int, log *slog.Logger) *streams {
	return &streams{most: max(cmp.Or(most, usualStreams), 1), refusals: web.Refusals{Log: cmp.Or(log, slog.Default()), What: "a stream was refused: there are too many"}}
}

// begin takes a place among the streams until release. The context ends with the place.
func (s *streams) begin(ctx context.Context, key posthouse.Key) (held context.Context, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	anybody := func(*stream) string { return "" }
	for _, bound := range []struct {
		whose string
		most  int
		in    func(*stream) bool   // what counts for the bound
		by    func(*stream) string // among whom the loudest ends one
		own   string
	}{
		{"your key has", max(s.most/4, 1), func(o *stream) bool { return o.key == key.ID }, nil, ""},
		{"your tenant has", max(s.most/2, 1), func(o *stream) bool { return o.tenant == key.Tenant }, func(o *stream) string { return o.key }, key.ID},
		{"there are", s.most, func(*stream) bool { return true }, func(o *stream) string { return o.tenant }, key.Tenant},
	} {
		n := s.count(bound.in, anybody)[""]
		if n < bound.most || bound.by != nil && s.outcrowd(bound.in, bound.by, bound.own) {
			continue
		}
		s.refusals.Note("tenant", key.Tenant, "key", key.ID, "open", n)
		return nil, nil, web.Busyf("%s %d streams here already: come again later", bound.whose, n)
	}
	held, end := context.WithCancelCause(ctx)
	one := &stream{key.Tenant, key.ID, end}
	s.open = append(s.open, one)
	return held, func() { s.leave(one) }, nil
}

// count is how many there are by some name, of those that count.
func (s *streams) count(in func(*stream) bool, by func(*stream) string) map[string]int {
	out := map[string]int{}
	for _, o := range s.open {
		if in(o) {
			out[by(o)]++
		}
	}
	return out
}

// outcrowd ends the oldest stream of who has the most, where that is two more than the newcomer: else they would take turns. Within a
// tenant it is one of the loudest key's.
func (s *streams) outcrowd(in func(*stream) bool, by func(*stream) string, own string) bool {
	count := s.count(in, by)
	loudest := ""
	for name, n := range count {
		if n > count[loudest] || n == count[loudest] && name < loudest {
			loudest = name
		}
	}
	if count[loudest] < count[own]+2 {
		return false
	}
	ofLoudest := func(o *stream) bool { return in(o) && by(o) == loudest }
	keys := s.count(ofLoudest, func(o *stream) string { return o.key })
	var oldest *stream
	for _, o := range s.open {
		if ofLoudest(o) && (oldest == nil || keys[o.key] > keys[oldest.key]) {
			oldest = o
		}
	}
	s.drop(oldest)
	oldest.end(errOutcrowded)
	return true
}

func (s *streams) leave(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(one)
	one.end(nil)
}

func (s *streams) drop(one *stream) {
	s.open = slices.DeleteFunc(s.open, func(o *stream) bool { return o == one })
}
