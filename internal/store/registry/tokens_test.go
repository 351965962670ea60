package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/store/sqltest"
)

// mint gives out a new token each time.
type mint struct {
	fetches atomic.Int32
	lasts   time.Duration
	wait    chan struct{} // nil, or closed when a fetch may end
}

func (m *mint) fetch(ctx context.Context) (string, time.Duration, error) {
	n := m.fetches.Add(1)
	if m.wait != nil {
		select {
		case <-m.wait:
		case <-ctx.Done():
			return "", 0, ctx.Err()
		}
	}
	return fmt.Sprintf("token-%d", n), m.lasts, nil
}

func anyToken(string) bool { return true }

// not is what fits who was refused with a token.
func not(stale string) func(string) bool { return func(value string) bool { return value != stale } }

// wantToken asks for a token and says what is wrong with the answer.
func wantToken(t *testing.T, s Tokens, fits func(string) bool, m *mint, want string) {
	t.Helper()
	got, lasts, err := s.Token(t.Context(), "t1/dingtalk", fits, m.fetch)
	if err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if err == nil && (lasts <= 0 || lasts > m.lasts+time.Minute) {
		t.Errorf("it lasts %s, want at most %s", lasts, m.lasts)
	}
}

// sixteen ask two stores of one database at once.
func sixteen(t *testing.T, dsn string, ask func(s Tokens)) {
	t.Helper()
	stores := []Tokens{{sqltest.Open(t, dsn)}, {sqltest.Open(t, dsn)}}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() { ask(stores[i%2]) })
	}
	all.Wait()
}

func TestManyProcessesFetchOneToken(t *testing.T) {
	sqltest.EachDSN(t, func(t *testing.T, dsn string) {
		m := &mint{lasts: 2 * time.Hour}
		sixteen(t, dsn, func(s Tokens) { wantToken(t, s, anyToken, m, "token-1") })
		if n := m.fetches.Load(); n != 1 {
			t.Errorf("%d fetches, want 1", n)
		}
	})
}

func TestARefusedTokenIsRefreshedOnceForAll(t *testing.T) {
	sqltest.EachDSN(t, func(t *testing.T, dsn string) {
		m := &mint{lasts: 2 * time.Hour}
		wantToken(t, Tokens{sqltest.Open(t, dsn)}, anyToken, m, "token-1")
		sixteen(t, dsn, func(s Tokens) { wantToken(t, s, not("token-1"), m, "token-2") })
		if n := m.fetches.Load(); n != 2 {
			t.Errorf("%d fetches, want 2", n)
		}
	})
}

func TestAnOldTokenServesWhileAnotherIsFetched(t *testing.T) {
	sqltest.Each(t, func(t *testing.T, db *sqldb.DB) {
		s := Tokens{db}
		m := &mint{lasts: time.Hour}
		wantToken(t, s, anyToken, m, "token-1")
		sqltest.Exec(t, db, "UPDATE posthouse_tokens SET expires_at = expires_at - 3480000000, updated_at = updated_at - 3480000000") // two minutes are left
		m.wait = make(chan struct{})
		fetched := make(chan struct{})
		go func() {
			defer close(fetched)
			wantToken(t, s, anyToken, m, "token-2")
		}()
		for sqltest.Count(t, db, "SELECT COUNT(*) FROM posthouse_tokens WHERE held_until > 0") == 0 {
			<-time.After(time.Millisecond)
		}
		wantToken(t, s, anyToken, m, "token-1")
		close(m.wait)
		<-fetched
		wantToken(t, s, anyToken, m, "token-2")
	})
}

func TestATokenThatHasEndedIsNotUsed(t *testing.T) {
	sqltest.Each(t, func(t *testing.T, db *sqldb.DB) {
		s := Tokens{db}
		m := &mint{lasts: time.Hour}
		wantToken(t, s, anyToken, m, "token-1")
		sqltest.Exec(t, db, "UPDATE posthouse_tokens SET expires_at = expires_at - 3600000001")
		wantToken(t, s, anyToken, m, "token-2")
	})
}

// A process that dies while it fetches leaves a lease that ends by itself.
func TestALostLeaseEnds(t *testing.T) {
	sqltest.Each(t, func(t *testing.T, db *sqldb.DB) {
		s := Tokens{db}
		_, _, mine, err := s.lookForToken(t.Context(), "t1/dingtalk", "the dead", anyToken)
		if err != nil || !mine {
			t.Fatalf("the lease was not taken: %v", err)
		}
		m := &mint{lasts: time.Hour}
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, _, err := s.Token(short, "t1/dingtalk", anyToken, m.fetch); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v while another has the lease, want the deadline", err)
		}
		sqltest.Exec(t, db, "UPDATE posthouse_tokens SET held_until = held_until - 31000000")
		wantToken(t, s, anyToken, m, "token-1")
		if err := s.keepToken(t.Context(), "t1/dingtalk", "the dead", "old", time.Hour); err != nil {
			t.Fatal(err)
		}
		wantToken(t, s, anyToken, m, "token-1") // what the dead brings is not kept
	})
}

func TestAFailedFetchIsKeptNowhere(t *testing.T) {
	sqltest.Each(t, func(t *testing.T, db *sqldb.DB) {
		s := Tokens{db}
		down := errors.New("down")
		_, _, err := s.Token(t.Context(), "t1/dingtalk", anyToken, func(context.Context) (string, time.Duration, error) { return "", 0, down })
		if !errors.Is(err, down) {
			t.Errorf("got %v, want %v", err, down)
		}
		wantToken(t, s, anyToken, &mint{lasts: time.Hour}, "token-1") // at once: the lease was given back
	})
}

func TestTokensOfLongAgoAreForgotten(t *testing.T) {
	sqltest.Each(t, func(t *testing.T, db *sqldb.DB) {
		s := Tokens{db}
		m := &mint{lasts: time.Hour}
		wantToken(t, s, anyToken, m, "token-1")
		sqltest.Exec(t, db, "UPDATE posthouse_tokens SET name = 'gone', expires_at = expires_at - 2700000000000")
		wantToken(t, s, anyToken, m, "token-2")
		if n := sqltest.Count(t, db, "SELECT COUNT(*) FROM posthouse_tokens"); n != 1 {
			t.Errorf("%d tokens are kept, want 1", n)
		}
	})
}
