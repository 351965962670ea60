package house

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/secret"
)

// Options say what to open.
type Options struct {
	// DSN of the database, as the members reach it. Required.
	DSN string
	// JudgeDSN is where the judge reads the log, when the members go through a proxy. Defaults to DSN.
	JudgeDSN string
	// Members is how many servers run. Defaults to 1; negative starts none, for a test that adds them.
	Members int
	// Binary is the command the members run. Defaults to the one that Binary builds.
	Binary string
	// Env are more settings of all members, NAME=VALUE.
	Env []string
	// Keyring is the text of the file with the keys. Defaults to new ones, which the first member makes.
	Keyring string
	// Provider is one that runs already. Defaults to a new one.
	Provider *Provider
}

// House is a number of servers on one database, one provider, and the journals of the run.
type House struct {
	DSN      string
	Key      string // the key of the administrator
	Members  []*Member
	Provider *Provider
	// Told and Faults are the files of the client's and the fault journal.
	Told, Faults string

	judgeDSN, keyring, dir string
	env                    []string
	proxy                  *client.Client // of callers who do not call a member itself
	told, faults           journal
	stall                  atomic.Int64 // nanoseconds: the longest that this machine has stood still
}

// journal is a file that gets a line of JSON a call.
type journal struct {
	mu   sync.Mutex
	file *os.File
}

func (j *journal) write(t testing.TB, line any) {
	t.Helper()
	text, err := json.Marshal(line)
	if err != nil {
		t.Fatal(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.Write(append(text, '\n')); err != nil {
		t.Error(err)
	}
}

func openJournal(t testing.TB, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o600) // a test may add what was noted before
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Open starts the servers one after the other, so that the first brings the schema up. All goes
// with the test.
func Open(t testing.TB, o Options) *House {
	t.Helper()
	dir := t.TempDir()
	h := &House{
		DSN: o.DSN, judgeDSN: o.JudgeDSN, Key: secret.FormatKey(secret.NewKey()), keyring: filepath.Join(dir, "keys"), dir: dir, env: o.Env,
		Provider: o.Provider, Told: filepath.Join(dir, "client.jsonl"), Faults: filepath.Join(dir, "faults.jsonl"),
	}
	if h.judgeDSN == "" {
		h.judgeDSN = h.DSN
	}
	if h.Provider == nil {
		h.Provider = StartProvider(t)
	}
	if o.Keyring != "" {
		if err := os.WriteFile(h.keyring, []byte(o.Keyring), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.watch(t)
	h.told.file, h.faults.file = openJournal(t, h.Told), openJournal(t, h.Faults)
	if o.Members == 0 {
		o.Members = 1
	}
	for range o.Members {
		m := h.Add(t, o.Binary)
		m.Start(t)
	}
	return h
}

// watch measures for how long this machine stands still at most, until the test ends.
func (h *House) watch(t testing.TB) {
	const often = 20 * time.Millisecond
	tick, end, ended := time.NewTicker(often), make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(end); <-ended })
	go func() {
		defer close(ended)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-tick.C:
				now := time.Now()
				h.stall.Store(max(h.stall.Load(), int64(now.Sub(last)-often)))
				last = now
			case <-end:
				return
			}
		}
	}()
}

// Add makes one more member, of another binary if one is named; it does not start it.
func (h *House) Add(t testing.TB, binary string) *Member {
	t.Helper()
	if binary == "" {
		binary = Binary(t)
	}
	m := &Member{Addr: FreeAddr(t), house: h, number: len(h.Members) + 1, binary: binary}
	m.quick = m.Client(t, 1)
	h.Members = append(h.Members, m)
	t.Cleanup(func() { m.end(9) })
	return m
}

// Keyring is the file with the keys of all members.
func (h *House) Keyring() string { return h.keyring }

// Fault is a line of the fault journal: what was done to the house, and from when until when.
type Fault struct {
	At     time.Time `json:"at"`
	Until  time.Time `json:"until,omitzero"`
	Kind   string    `json:"kind"` // kill, term, pause, db_kill, db_cut, restore, disk_full, clock, provider, seen
	Target string    `json:"target,omitempty"`
	Note   string    `json:"note,omitempty"`
	N      int       `json:"n,omitempty"`
}

// Fault notes one. At defaults to now.
func (h *House) Fault(t testing.TB, f Fault) {
	t.Helper()
	if f.At.IsZero() {
		f.At = time.Now()
	}
	f.At, f.Until = f.At.UTC(), f.Until.UTC()
	h.faults.write(t, f)
}
