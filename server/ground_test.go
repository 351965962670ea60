package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/server"
)

// Somebody removes the database under the server: nothing is answered with 202 any more, and all who ask learn why.
func TestNothingIsAcceptedOnceTheFileIsGone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "posthouse.db")
	h := open(t, "sqlite:"+path)
	_, _, err := h.api.Channels.Put(t.Context(), posthouse.Channel{Name: "sink", Driver: "discard"})
	h.must(err)
	const message = `{"channel":"sink","content":{"text":"hello"},"to":[{"address":"a"}]}`
	if status, answer := h.call(http.MethodPost, "/v1/messages", "application/json", message); status != http.StatusAccepted {
		t.Fatalf("before: %d %v", status, answer)
	}
	for _, ending := range []string{"", "-wal", "-shm"} {
		h.must(os.Rename(path+ending, path+ending+".away"))
	}
	status, answer := h.call(http.MethodPost, "/v1/messages", "application/json", message)
	if status != http.StatusServiceUnavailable || answer["detail"] != sqldb.FileGone {
		t.Errorf("without its file the server answers %d %v", status, answer)
	}
	status, answer = h.call(http.MethodGet, "/readyz", "", "")
	first := answer["checks"].([]any)[0].(map[string]any)
	if status != http.StatusServiceUnavailable || first["detail"] != sqldb.FileGone {
		t.Errorf("/readyz answers %d %v", status, answer)
	}
	if n := strings.Count(h.log.tail(1000), sqldb.FileGone+": nothing is accepted"); n != 1 {
		t.Errorf("the log says it %d times:\n%s", n, h.log.tail(10))
	}
	for _, ending := range []string{"", "-wal", "-shm"} {
		h.must(os.Rename(path+ending+".away", path+ending))
	}
	h.eventually("it accepts again when the very same files are back", func() bool {
		status, _ := h.call(http.MethodPost, "/v1/messages", "application/json", message)
		return status == http.StatusAccepted
	})
}

// Somebody moves the database under a server at work, and back: all that callers were told 202 for is there, whether the server goes on
// or is stopped meanwhile. It is stopped at once, whatever waits for its result.
func TestAMovedFileComesBackWithAllThatWasAccepted(t *testing.T) {
	t.Parallel()
	for _, stopped := range []bool{false, true} {
		t.Run(fmt.Sprintf("stopped %t", stopped), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "posthouse.db")
			asked, answer := make(chan struct{}, 100), make(chan struct{})
			slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{}; <-answer }))
			t.Cleanup(slow.Close)
			h := open(t, "sqlite:"+path, func(o *server.Options) { o.StateDir, o.Drain = filepath.Dir(path), time.Hour })
			h.put(posthouse.Channel{Name: "slow", Driver: "webhook", Config: map[string]any{"url": slow.URL, "secret": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}})
			h.put(posthouse.Channel{Name: "sink", Driver: "discard"})
			if status, said := h.call(http.MethodPost, "/v1/messages", "application/json", `{"channel":"slow","content":{"text":"hello"},"to":[{"address":"a"}]}`); status != http.StatusAccepted {
				t.Fatalf("%d %v", status, said)
			}
			<-asked
			callers := h.load(8, "sink")
			h.eventually("some are accepted", func() bool { return callers.accepted.Load() > 50 })
			h.must(os.Rename(path, path+".away"))
			h.eventually("callers are refused", func() bool { return callers.refused.Load() > 50 })
			close(answer) // its result cannot be stored
			if stopped {
				callers.end()
				h.must(h.stop(context.WithoutCancel(t.Context())))
			}
			if at, err := os.Stat(path); err == nil {
				t.Errorf("a file of %d bytes was made where none stood", at.Size())
			}
			h.must(os.Rename(path+".away", path))
			if !stopped {
				before := callers.accepted.Load()
				h.eventually("it accepts again", func() bool { return callers.accepted.Load() > before+50 })
				callers.end()
				h.must(h.stop(context.WithoutCancel(t.Context())))
			}
			next := open(t, "sqlite:"+path, func(o *server.Options) { o.StateDir = filepath.Dir(path) })
			if n := int64(next.number("SELECT COUNT(*) FROM posthouse_messages WHERE channel = 'sink'")); n < callers.accepted.Load() {
				t.Errorf("%d messages are stored, %d were accepted", n, callers.accepted.Load())
			}
		})
	}
}

// load are callers who send one message after the other, and read.
type load struct {
	accepted, refused atomic.Int64
	end               func()
}

func (h *house) load(n int, channel string) *load {
	l, done, all := &load{}, make(chan struct{}), sync.WaitGroup{}
	body := `{"channel":"` + channel + `","content":{"text":"hello"},"to":[{"address":"a"}]}`
	ask := func(method, path, body string) int {
		r, err := http.NewRequestWithContext(h.Context(), method, h.url+path, strings.NewReader(body))
		if err != nil {
			return 0
		}
		r.Header.Set("Authorization", "Bearer "+h.key)
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0
		}
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, answer.Body) // so that the connection is used again
		return answer.StatusCode
	}
	for range n {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				switch ask(http.MethodPost, "/v1/messages", body) {
				case http.StatusAccepted:
					l.accepted.Add(1)
				case http.StatusServiceUnavailable:
					l.refused.Add(1)
				}
				_ = ask(http.MethodGet, "/v1/messages", "")
			}
		})
	}
	l.end = sync.OnceFunc(func() { close(done); all.Wait() })
	h.Cleanup(l.end)
	return l
}

// A file on which no server has ever worked does not take the place of one that was lost, though it has our tables.
func TestAnotherFileDoesNotBeginANewInstallation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "posthouse.db")
	with := func(o *server.Options) { o.StateDir = dir }
	h := open(t, "sqlite:"+path, with)
	h.must(h.stop(t.Context()))
	h.must(os.Rename(path, path+".away"))
	for _, ending := range []string{"-wal", "-shm"} {
		_ = os.Remove(path + ending) // the last connection may have taken them away
	}
	for name, text := range map[string]string{"of another program": "CREATE TABLE theirs (n INTEGER)", "migrated": ""} {
		h.must(os.RemoveAll(path))
		another := filepath.Join(t.TempDir(), "another.db")
		other, err := sqldb.Open(t.Context(), sqldb.Options{DSN: "sqlite:" + another})
		h.must(err)
		if text == "" {
			_, err = schema.Of(other).Migrate(t.Context())
		} else {
			err = other.Change(t.Context(), time.Now(), "test", func(x *sqldb.Tx) error { _, err := x.Exec(text); return err })
		}
		h.must(err)
		h.must(other.Close())
		h.must(os.Rename(another, path))
		err = starts(t, server.Options{DSN: "sqlite:" + path, Keyring: keyring, StateDir: dir})
		if err == nil || !strings.Contains(err.Error(), "nothing is begun anew in its place") {
			t.Errorf("%s: the start ended with %v, want a refusal", name, err)
		}
	}
	h.must(os.Rename(path+".away", path))
	if err := starts(t, server.Options{DSN: "sqlite:" + path, Keyring: keyring, StateDir: dir}); err != nil {
		t.Errorf("the file that is back: %v", err)
	}
}
