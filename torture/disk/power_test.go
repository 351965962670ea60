package disk

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
)

// A6: a power cut between any two writes to SQLite's files. What a real server writes while it accepts,
// sends and records is traced; at each cut its files are put together again from what was synced, and
// from some of what was not, and opened as the server would open them.
func TestA6PowerCutLosesNothing(t *testing.T) {
	t.Parallel()
	got, why := cutPower(t, house.Binary(t), 250, allLeft) // enough for the log to be written back and begun again
	if why != "" {
		house.Report(t, house.Row{Test: "A6", Database: "sqlite", What: "power cut", Unit: "cuts", Figure: "not run: " + why, Bar: "lost 0, corrupt 0", Pass: os.Getenv("CI") != "true"})
		return
	}
	house.Report(t, house.Row{
		Test: "A6", Database: "sqlite", What: "power cut between two writes; unsynced ones are lost, kept with p = 0.5, or kept from the last on; the shared memory file is lost", N: got.rebuilt, Unit: "databases put together",
		Figure: fmt.Sprintf("%d writes and %d syncs of %d messages, cut at %d places: lost %d, corrupt %d", got.writes, got.syncs, got.messages, got.cuts, got.lost, got.corrupt),
		Bar:    "lost 0, corrupt 0", Bound: house.Bound(got.rebuilt), Pass: got.lost == 0 && got.corrupt == 0 && got.syncs > 0,
	})
}

// A6, the test of the test: the mode that syncs only now and then loses what was accepted.
func TestA6WeakerModeLosesMessages(t *testing.T) {
	t.Parallel()
	weak := overlay.Build(t, overlay.Edit{File: "internal/store/sqldb/sqlite.go", Old: `"synchronous(FULL)"`, New: `"synchronous(NORMAL)"`})
	got, why := cutPower(t, weak, house.Size(100, 500), noneLeft)
	if why != "" {
		house.Report(t, house.Row{Test: "A6", Database: "sqlite", What: "power cut, synchronous=NORMAL", Unit: "cuts", Figure: "not run: " + why, Bar: "the loss of the weaker mode", Pass: os.Getenv("CI") != "true"})
		return
	}
	house.Report(t, house.Row{
		Test: "A6", Database: "sqlite", What: "negative control: power cut with synchronous=NORMAL, unsynced writes are lost", N: got.rebuilt, Unit: "databases put together",
		Figure: fmt.Sprintf("%d writes and %d syncs of %d messages: up to %d accepted messages lost in one cut, corrupt %d", got.writes, got.syncs, got.messages, got.most, got.corrupt),
		Bar:    "loses messages: the test can fail; corrupt 0", Pass: got.most > 0 && got.corrupt == 0,
	})
}

// leftover is what a power cut leaves of the writes that were not synced, in their order.
type leftover func(dice *rand.Rand, unsynced []op) []op

// noneLeft is the disk that forgets, allLeft all the kinds of disk.
var (
	noneLeft = []leftover{forget}
	allLeft  = []leftover{forget, keepHalf, keepLast}
)

func forget(*rand.Rand, []op) []op { return nil }

func keepHalf(dice *rand.Rand, unsynced []op) (kept []op) {
	for _, o := range unsynced {
		if dice.IntN(2) == 0 {
			kept = append(kept, o)
		}
	}
	return kept
}

// keepLast is a disk that writes back in reverse order.
func keepLast(dice *rand.Rand, unsynced []op) []op {
	return unsynced[dice.IntN(len(unsynced)+1):]
}

// cuts is what power cuts came to.
type cuts struct {
	messages, writes, syncs int
	cuts, rebuilt           int
	lost, most, corrupt     int // messages lost over all, in one cut; databases
}

func cutPower(t *testing.T, binary string, messages int, kinds []leftover) (out cuts, why string) {
	t.Helper()
	dir := t.TempDir()
	log, path := filepath.Join(dir, "trace"), filepath.Join(dir, "posthouse.db")
	script, why := tracer(t, binary, log)
	if why != "" {
		return out, why
	}
	h := house.Open(t, house.Options{DSN: "sqlite:" + path, Binary: script})
	h.PutChannel(t, h.Channel("generic"))
	out.messages = messages
	h.Produce(t, house.Load{Messages: messages, Draft: func(n int) posthouse.Draft {
		d := house.Text("generic", n)
		d.Content.Text = strings.Repeat("power ", 2000)
		return d
	}})
	h.Settle(t)
	h.Members[0].Kill(t)
	ops := readTrace(t, log, path)
	acks := acknowledged(t, h)
	dice := rand.New(rand.NewPCG(6, 6))
	d := disk{kept: map[string][]byte{}}
	next := 0
	for k, o := range ops {
		d.do(o)
		if d.synced(o) {
			out.syncs++
		} else {
			out.writes++
		}
		if k+1 == len(ops) || ops[k+1].began.Before(acks[0].at) {
			continue
		}
		for next < len(acks) && acks[next].at.Before(ops[k+1].began) {
			next++
		}
		if !house.Full() && dice.IntN(len(ops)) > 40 && !(d.synced(ops[k+1]) && dice.IntN(10) == 0) { // some, and just before syncs
			continue
		}
		if out.cuts++; out.cuts%1000 == 0 {
			t.Logf("call %d of %d, %d databases put together", k, len(ops), out.rebuilt)
		}
		for _, kind := range kinds {
			out.rebuilt++
			lost, err := d.rebuild(t, path, kind(dice, d.unsynced), acks[:next])
			if err != nil {
				out.corrupt++
				t.Errorf("cut %d: %v", k, err)
			}
			out.lost += lost
			out.most = max(out.most, lost)
		}
	}
	return out, ""
}

// ack is a message that a caller was told is accepted.
type ack struct {
	at time.Time
	id string
}

func acknowledged(t *testing.T, h *house.House) (list []ack) {
	t.Helper()
	f, err := os.Open(h.Told)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var line house.Told
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Message != "" {
			list = append(list, ack{line.At, line.Message})
		}
	}
	slices.SortFunc(list, func(a, b ack) int { return a.at.Compare(b.at) })
	return list
}

// disk is what is surely on it, by path, and what has been written since its file's last sync.
type disk struct {
	kept     map[string][]byte
	unsynced []op
}

func (d *disk) synced(o op) bool { return o.call == "fsync" || o.call == "fdatasync" }

// do carries out a call. Names of files are taken to survive: SQLite syncs the folder.
func (d *disk) do(o op) {
	switch {
	case d.synced(o):
		for _, u := range d.unsynced {
			if u.path == o.path {
				apply(d.kept, u)
			}
		}
		d.unsynced = slices.DeleteFunc(d.unsynced, func(u op) bool { return u.path == o.path })
	case strings.HasPrefix(o.call, "unlink"):
		d.unsynced = slices.DeleteFunc(d.unsynced, func(u op) bool { return u.path == o.path })
		delete(d.kept, o.path)
	default:
		d.unsynced = append(d.unsynced, o)
	}
}

func apply(files map[string][]byte, o op) {
	file := files[o.path]
	size := o.offset + int64(len(o.data))
	if o.call == "ftruncate" {
		size = o.size
		file = file[:min(int64(len(file)), size)]
	}
	if grow := size - int64(len(file)); grow > 0 {
		file = append(file, make([]byte, grow)...)
	}
	copy(file[o.offset:], o.data)
	files[o.path] = file
}

// rebuild puts the files together from what is kept and what the cut left, opens them as the product
// does, and counts the acknowledged messages that are not there.
func (d *disk) rebuild(t *testing.T, path string, left []op, acks []ack) (lost int, err error) {
	t.Helper()
	files := maps.Clone(d.kept)
	for _, o := range left {
		files[o.path] = slices.Clone(files[o.path])
	}
	for _, o := range left {
		apply(files, o)
	}
	dir := t.TempDir()
	defer remove(t, dir)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, filepath.Base(path))
	st, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + file})
	if err != nil {
		return len(acks), err
	}
	defer st.Close()
	there, err := inspect(t.Context(), file)
	if err != nil {
		return len(acks), err
	}
	for _, a := range acks {
		if !there[a.id] {
			lost++
		}
	}
	return lost, nil
}

// inspect checks a database's integrity and returns the messages that have their delivery.
func inspect(ctx context.Context, file string) (map[string]bool, error) {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&verdict); err != nil {
		return nil, err
	}
	if verdict != "ok" {
		return nil, fmt.Errorf("integrity_check: %s", verdict)
	}
	var made int // a cut may come before the schema is on the disk
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'posthouse_deliveries'").Scan(&made); err != nil || made == 0 {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, "SELECT m.id FROM posthouse_messages m JOIN posthouse_deliveries d ON d.id = substr(m.id, 1, 22) || '0001'")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	there := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		there[id] = true
	}
	return there, rows.Err()
}
