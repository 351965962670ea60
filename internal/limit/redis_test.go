package limit_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/limit/limittest"
	"pgregory.net/rapid"
)

// server is a real Redis in a directory of its own, reached by a Unix socket.
type server struct {
	dir  string
	proc *exec.Cmd
}

func (s *server) url() string { return "unix://" + filepath.Join(s.dir, "redis") }

// startServer starts a Redis; nil where there is none, which only CI does not accept.
func startServer(t testing.TB) *server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("redis-server is not installed: apt-get install redis-server")
		}
		t.Log("redis-server is not installed: tested on miniredis only")
		return nil
	}
	dir, err := os.MkdirTemp("", "redis") //nolint:usetesting // t.TempDir is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	s := &server{dir: dir}
	t.Cleanup(func() {
		s.stop()
		os.RemoveAll(dir)
	})
	s.start(t)
	return s
}

// start starts the process and waits until it answers.
func (s *server) start(t testing.TB) {
	t.Helper()
	s.proc = exec.Command("redis-server", "--port", "0", "--unixsocket", filepath.Join(s.dir, "redis"), "--save", "", "--dir", s.dir)
	if err := s.proc.Start(); err != nil {
		t.Fatal(err)
	}
	for range 6000 {
		if conn, err := net.Dial("unix", filepath.Join(s.dir, "redis")); err == nil {
			conn.Close()
			return
		}
		limittest.Pause(t.Context(), 10*time.Millisecond)
	}
	t.Fatal("redis-server did not answer within a minute")
}

// stop kills the process, with all it remembers.
func (s *server) stop() {
	s.proc.Process.Kill()
	s.proc.Wait()
	os.Remove(filepath.Join(s.dir, "redis"))
}

func openRedis(t testing.TB, o limit.RedisOptions) *limit.Redis {
	t.Helper()
	r, err := limit.OpenRedis(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestRealRedis(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	if s == nil {
		return
	}
	t.Run("suite", func(t *testing.T) {
		limittest.Run(t, limittest.Options{Open: func(t *testing.T) limit.Limiter {
			return openRedis(t, limit.RedisOptions{URL: s.url(), Timeout: 10 * time.Second})
		}})
	})
}

// TestScriptDecidesAsState runs the script and State side by side on one clock.
func TestScriptDecidesAsState(t *testing.T) {
	t.Parallel()
	m := miniredis.NewMiniRedis()
	t.Cleanup(m.Close)
	r := limit.OpenRedisBy(m.Dial, limit.RedisOptions{Timeout: time.Minute})
	t.Cleanup(func() { r.Close() })
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		state := limit.SQL{Rows: &rows{now: func() time.Time { return now }}}
		keys := []string{posthouse.NewID(), posthouse.NewID(), posthouse.NewID()}
		windows := [][]posthouse.Limit{drawWindows(t), drawWindows(t), drawWindows(t)}
		for range rapid.IntRange(1, 25).Draw(t, "calls") {
			now = now.Add(drawStep(t, rapid.SampledFrom(windows).Draw(t, "step by")))
			m.SetTime(now)
			if rapid.IntRange(0, 9).Draw(t, "change") == 0 {
				windows[rapid.IntRange(0, 2).Draw(t, "changed")] = drawWindows(t)
			}
			bounds := drawBounds(t, keys, windows)
			want := rapid.SampledFrom([]int{0, 1, 2, 30, 150, 400}).Draw(t, "want")
			both(t, state, r, func(l limit.Limiter) (limit.Grant, error) { return l.Peek(t.Context(), bounds) })
			got := both(t, state, r, func(l limit.Limiter) (limit.Grant, error) { return l.Take(t.Context(), bounds, want) })
			for i := range got.Stamps {
				s := &got.Stamps[i]
				s.At = s.At.Add(rapid.SampledFrom([]time.Duration{0, 0, 0, -time.Microsecond, time.Microsecond, time.Hour}).Draw(t, "astray"))
			}
			if give := rapid.IntRange(0, max(1, got.N)).Draw(t, "refund"); rapid.Bool().Draw(t, "refunds") {
				both(t, state, r, func(l limit.Limiter) (limit.Grant, error) {
					return limit.Grant{}, l.Refund(t.Context(), got, give)
				})
			}
		}
	})
}

// both asks two limiters and fails where they answer differently.
func both(t *rapid.T, a, b limit.Limiter, ask func(limit.Limiter) (limit.Grant, error)) limit.Grant {
	t.Helper()
	fromA, errA := ask(a)
	fromB, errB := ask(b)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if !cmp.Equal(fromA, fromB, cmpopts.IgnoreUnexported(limit.Grant{})) {
		t.Fatalf("%T says %+v, %T says %+v", a, fromA, b, fromB)
	}
	return fromA
}

// drawBounds draws some of the keys, in any order.
func drawBounds(t *rapid.T, keys []string, windows [][]posthouse.Limit) []limit.Bound {
	var bounds []limit.Bound
	for _, i := range rapid.Permutation([]int{0, 1, 2}).Draw(t, "keys")[:rapid.IntRange(1, 3).Draw(t, "how many")] {
		bounds = append(bounds, limit.Bound{Key: keys[i], Windows: windows[i]})
	}
	return bounds
}

func drawWindows(t *rapid.T) []posthouse.Limit {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) posthouse.Limit {
		most := rapid.SampledFrom([]int{1, 3, 100, 101, 1000}).Draw(t, "max")
		d := rapid.SampledFrom([]time.Duration{1234567 * time.Nanosecond, time.Second, 3 * time.Second, time.Hour, 24 * time.Hour}).Draw(t, "per")
		return per(most, d)
	}), 1, 4).Draw(t, "windows")
}

// drawStep draws how the clock moves: mostly on, by up to two windows, and at times back.
func drawStep(t *rapid.T, windows []posthouse.Limit) time.Duration {
	if back := rapid.SampledFrom([]time.Duration{0, 0, 0, 0, 0, time.Second, time.Hour}).Draw(t, "back"); back > 0 {
		return -back
	}
	most := rapid.SampledFrom(windows).Draw(t, "window").Per.Std() * 2 / rapid.SampledFrom([]time.Duration{1, 50, 300}).Draw(t, "part")
	return time.Duration(rapid.Int64Range(0, most.Microseconds()).Draw(t, "step")) * time.Microsecond
}

func TestRedisKeysExpireWithTheirLongestWindow(t *testing.T) {
	t.Parallel()
	m := miniredis.NewMiniRedis()
	t.Cleanup(m.Close)
	r := limit.OpenRedisBy(m.Dial, limit.RedisOptions{Prefix: "test:", Timeout: time.Minute})
	t.Cleanup(func() { r.Close() })
	if _, err := r.Take(t.Context(), one("key", []posthouse.Limit{per(5, time.Second), per(50, time.Hour)}), 1); err != nil {
		t.Fatal(err)
	}
	m.FastForward(time.Hour)
	if !m.Exists("test:key") {
		t.Error("the key is gone before its window has passed")
	}
	m.FastForward(2 * time.Minute)
	if got := m.Keys(); len(got) > 0 {
		t.Errorf("keys %v are left, want none", got)
	}
}

func TestRedisFailsFastWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	mute := func() (net.Conn, error) {
		conn, _ := net.Pipe() // nobody reads the other end
		return conn, nil
	}
	r := limit.OpenRedisBy(mute, limit.RedisOptions{Timeout: 20 * time.Millisecond})
	t.Cleanup(func() { r.Close() })
	g, err := r.Take(t.Context(), one("key", []posthouse.Limit{per(5, time.Second)}), 1)
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) || g.N != 0 {
		t.Errorf("got %+v, error %v, want a deadline exceeded", g, err)
	}
}

func TestOpenRedisDoesNotShowThePassword(t *testing.T) {
	t.Parallel()
	_, err := limit.OpenRedis(limit.RedisOptions{URL: "redis://user:s3cret@host:port/zero"})
	if posthouse.CodeOf(err) != posthouse.CodeInvalid || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got error %v, want code invalid and no password", err)
	}
}
