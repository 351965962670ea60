package prove

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// session is one of those whose statements are put in order.
type session struct {
	name    string
	gate    *gate
	run     func() error
	over    bool
	blocked bool // by a lock of another
	knock   chan struct{}
	done    chan error
	err     error
}

// choice is a moment at which several could go on, or one.
type choice struct {
	options []int
	chosen  int
	running int // who went before
}

// orders runs sessions in every order of their statements that switches between them, where it need not, at most so often. make
// prepares a run, and judge says what is wrong with its end.
type orders struct {
	db       *database // beside them, to ask who waits
	switches int
	make     func(ctx context.Context) ([]*session, error)
	judge    func(ctx context.Context, list []*session) *violation
	runs     int
	most     int // statements of a run
}

// all tries all orders, and returns the first end that breaks a law with the order that led there.
func (o *orders) all(ctx context.Context) (v *violation, order string, err error) {
	for todo := [][]int{nil}; len(todo) > 0; {
		prefix := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		list, choices, err := o.once(ctx, prefix)
		if err != nil {
			return nil, "", err
		}
		o.runs, o.most = o.runs+1, max(o.most, len(choices))
		if v := o.judge(ctx, list); v != nil {
			return v, words(list, choices), nil
		}
		for i := len(choices) - 1; i >= len(prefix); i-- {
			for _, other := range choices[i].options {
				if other != choices[i].chosen && switched(choices[:i])+costs(choices[i], other) <= o.switches {
					todo = append(todo, append(chosen(choices[:i]), other))
				}
			}
		}
	}
	return nil, "", nil
}

func chosen(choices []choice) []int {
	list := make([]int, len(choices), len(choices)+1)
	for i := range choices {
		list[i] = choices[i].chosen
	}
	return list
}

// costs is 1 where the one that went before could go on, and another goes.
func costs(c choice, next int) int {
	if next != c.running && slices.Contains(c.options, c.running) {
		return 1
	}
	return 0
}

func switched(choices []choice) (n int) {
	for _, c := range choices {
		n += costs(c, c.chosen)
	}
	return n
}

// words is an order as people read it: who sent how many statements, one after the other.
func words(list []*session, choices []choice) string {
	var parts []string
	for i := 0; i < len(choices); {
		n := i
		for n < len(choices) && choices[n].chosen == choices[i].chosen {
			n++
		}
		parts = append(parts, fmt.Sprintf("%s ×%d", list[choices[i].chosen].name, n-i))
		i = n
	}
	return strings.Join(parts, ", ")
}

// once runs the sessions in an order that begins with a prefix; then each goes on for as long as it can.
func (o *orders) once(ctx context.Context, prefix []int) (list []*session, choices []choice, err error) {
	if list, err = o.make(ctx); err != nil {
		return nil, nil, err
	}
	for _, s := range list {
		s.done = make(chan error, 1)
		s.gate.shut.Store(true)
		go func() { s.done <- s.run() }()
	}
	defer func() {
		for _, s := range list {
			s.gate.shut.Store(false)
		}
	}()
	running := -1 // whoever goes first does not leave another
	for {
		var options []int
		left := false
		for i, s := range list {
			if err := o.settle(ctx, s); err != nil {
				return nil, nil, err
			}
			if left = left || !s.over; s.knock != nil {
				options = append(options, i)
			}
		}
		if !left {
			return list, choices, nil
		}
		if len(options) == 0 {
			continue // each waits for the other: the server undoes one of them
		}
		next := options[0]
		if slices.Contains(options, running) {
			next = running
		}
		if n := len(choices); n < len(prefix) && slices.Contains(options, prefix[n]) {
			next = prefix[n]
		}
		choices = append(choices, choice{options, next, running})
		running = next
		close(list[next].knock)
		list[next].knock, list[next].blocked = nil, false
	}
}

// settle waits until a session knocks, is over, or waits for a lock.
func (o *orders) settle(ctx context.Context, s *session) error {
	begun := time.Now()
	for !s.over && s.knock == nil {
		wait := time.NewTimer(glance)
		select {
		case s.knock = <-s.gate.knocks:
		case s.err = <-s.done:
			s.over = true
		case <-ctx.Done():
			return ctx.Err()
		case <-wait.C:
			held, err := s.gate.blocked(ctx, o.db)
			if err != nil {
				return err
			}
			if held || time.Since(begun) > patience {
				s.blocked = true
				return nil
			}
		}
		wait.Stop()
	}
	return nil
}
