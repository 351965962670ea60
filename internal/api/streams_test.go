package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// crowd opens streams of keys, each "tenant/key".
type crowd struct {
	*streams
	*testing.T
	held map[string][]context.Context
}

// open tries n streams of a key, and returns how many began.
func (c *crowd) open(who string, n int) (began int) {
	c.Helper()
	tenant, _, _ := strings.Cut(who, "/")
	for range n {
		held, _, err := c.begin(c.Context(), posthouse.Key{Tenant: tenant, ID: who})
		if err != nil {
			if posthouse.CodeOf(err) != posthouse.CodeUnavailable {
				c.Errorf("%s: %v", who, err)
			}
			continue
		}
		c.held[who] = append(c.held[who], held)
		began++
	}
	return began
}

// live is how many of a key's streams have not ended.
func (c *crowd) live(who string) (n int) {
	for _, held := range c.held[who] {
		if held.Err() == nil {
			n++
		} else if !errors.Is(context.Cause(held), errOutcrowded) {
			c.Errorf("a stream of %s ended by %v", who, context.Cause(held))
		}
	}
	return n
}

func newCrowd(t *testing.T, most int, log *slog.Logger) *crowd {
	return &crowd{newStreams(most, log), t, map[string][]context.Context{}}
}

func TestAStreamIsRefusedToWhoHasItsShare(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	c := newCrowd(t, 40, slog.New(slog.NewTextHandler(&log, nil)))
	if got := c.open("a/1", 60); got != 10 {
		t.Errorf("a key got %d streams of 40, want a quarter", got)
	}
	if got := c.open("a/2", 60); got != 10 {
		t.Errorf("another key got %d, want a quarter", got)
	}
	if got, of := c.open("a/3", 1), c.live("a/1")+c.live("a/2"); got != 1 || of != 19 {
		t.Errorf("a third key of a tenant with a half got %d streams, beside %d", got, of)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "key=a/1") {
		t.Errorf("100 refusals are %d lines of the log:\n%s", n, log.String())
	}
}

// Whoever has the most makes room, until shares are even; then the newcomer waits.
func TestTheLoudestMakesRoomForOthers(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 40, slog.New(slog.DiscardHandler))
	for _, tenant := range []string{"a", "b"} {
		for key := range 2 {
			c.open(fmt.Sprintf("%s/%d", tenant, key), 10)
		}
	}
	if got := c.open("c/1", 10); got != 10 {
		t.Errorf("a tenant that has none got %d streams of a process that has no more, want its share", got)
	}
	for _, tenant := range []string{"a", "b"} {
		if got := c.live(tenant+"/0") + c.live(tenant+"/1"); got != 15 {
			t.Errorf("tenant %s has %d left, want 15", tenant, got)
		}
	}
	if got := c.open("c/2", 10); got != 3 {
		t.Errorf("its other key got %d, want as many as make all even", got)
	}
	if got := c.open("a/0", 1); got != 0 {
		t.Error("who has as many as others got one of theirs")
	}
	if len(c.streams.open) != 40 {
		t.Errorf("%d are open, want 40", len(c.streams.open))
	}
}

func TestAStreamThatEndsLeavesItsPlace(t *testing.T) {
	t.Parallel()
	s := newStreams(1, nil)
	for range 3 {
		held, release, err := s.begin(t.Context(), posthouse.Key{Tenant: "a", ID: "1"})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.begin(t.Context(), posthouse.Key{Tenant: "b", ID: "2"}); err == nil {
			t.Fatal("there is room for two")
		}
		release()
		if held.Err() == nil {
			t.Error("what was released goes on")
		}
	}
}
