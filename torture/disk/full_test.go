package disk

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// A9: the database's disk has no room left in the middle of the work. Callers are told so, nothing new
// starts once a result could not be written, and when there is room again all goes on.
func TestA9FullDiskStopsStarts(t *testing.T) {
	t.Parallel()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		h, disk := openOnSmallDisk(t, db)
		if h == nil {
			house.Report(t, house.Row{
				Test: "A9", Database: string(db), What: "disk full", Unit: "messages",
				Figure: "not run: a file system of its own cannot be mounted here", Bar: "as on SQLite", Pass: !house.Full(),
			})
			return
		}
		h.Provider.Behave(t, "generic", simulator.Behaviour{Faults: []simulator.Fault{{Kind: simulator.Latency, Latency: posthouse.Duration(300 * time.Millisecond)}}})
		h.PutChannel(t, h.Channel("generic"))
		f := fillDisk(t, h, disk, house.Size(300, 1000))
		h.Settle(t)
		h.Judge(t)
		f.judge(t, h)
		house.Report(t, house.Row{
			Test: "A9", Database: string(db), What: "disk full", N: len(f.accepted), Unit: "messages",
			Figure: fmt.Sprintf("full for %s (%s); %d callers told storage_full, %d unavailable; %d sends started after the first of them, %d by a server after its first result that could not be written (%d results waited); /readyz: %s; lost %d, unexplained duplicates %d, explained %d",
				f.freed.Sub(f.full).Round(100*time.Millisecond), disk.how, f.told["storage_full"], f.told["unavailable"], f.startedFull, f.startedBlind, f.waited, f.ready, f.lost, f.unexplained, f.explained),
			Bar:   fmt.Sprintf("callers told, lost 0, unexplained 0; starts stop once a result cannot be written: no more than a claim under way holds, %d a server", claimed),
			Bound: house.Bound(len(f.accepted)),
			Pass:  f.told[string(disk.told)] > 0 && f.startedBlind <= claimed*len(h.Members) && f.lost == 0 && f.unexplained == 0,
		})
	})
}

// claimed is how many sends a server may have under way on a channel whose provider knows no keys.
const claimed = 32

// openOnSmallDisk opens a house whose database is on a disk that can be filled; nil where there is none.
func openOnSmallDisk(t *testing.T, db house.Database) (*house.House, *smallDisk) {
	t.Helper()
	if db == house.SQLite {
		disk, ok := mountSmall(t, 64<<20)
		if !ok {
			path := filepath.Join(t.TempDir(), "posthouse.db")
			h := house.Open(t, house.Options{DSN: "sqlite:" + path})
			return h, limitFiles(t, h, path)
		}
		return house.Open(t, house.Options{DSN: "sqlite:" + filepath.Join(disk.dir, "posthouse.db")}), disk
	}
	disk, ok := mountSmall(t, 384<<20)
	if !ok {
		return nil, disk
	}
	o := dbtest.Options{Kind: dbtest.KindPostgres, Dir: filepath.Join(disk.dir, "server"), Durable: true}
	if db == house.MariaDB {
		o.Kind = dbtest.KindMariaDB
	}
	disk.server = dbtest.Own(t, o)
	return house.Open(t, house.Options{DSN: disk.server.DSN, Members: 2}), disk
}

// filled is what a full disk came to.
type filled struct {
	accepted     map[int]string
	told         map[string]int // callers, by the code they were told
	full, freed  time.Time      // when the first caller was told, when there was room again
	ready        string
	startedFull  int // sends started while there was no room
	startedBlind int // of these, after a result that could not be written
	waited       int // results written only when there was room again
	lost         int
	explained    int // arrivals beyond the first that follow an unknown
	unexplained  int
}

// fillDisk produces a load, takes all room when half of it is accepted, and gives it back later.
func fillDisk(t *testing.T, h *house.House, disk *smallDisk, messages int) *filled {
	t.Helper()
	f := &filled{}
	var wg sync.WaitGroup
	defer wg.Wait()
	at := time.Now()
	wg.Go(func() {
		f.accepted = h.Produce(t, house.Load{
			Messages: messages,
			Draft: func(n int) posthouse.Draft {
				d := house.Text("generic", n)
				d.Content.Text = strings.Repeat("no room ", 1024)
				return d
			},
			Each: func(accepted int) {
				if accepted == messages/2 {
					at = time.Now()
					disk.fill(t)
				}
			},
		})
	})
	defer func() { // also where the wait was in vain: the producers go on until they are done
		f.freed = time.Now()
		disk.heal(t)
		h.Fault(t, house.Fault{At: at, Until: f.freed, Kind: "disk_full"})
	}()
	house.Until(t, "callers, and /readyz, to be told that there is no room", func() bool {
		f.full = firstTold(t, h, disk.told)
		return !f.full.IsZero() && (disk.told != posthouse.CodeStorageFull || disk.diedOfIt() || f.seesNoRoom(t, h))
	})
	house.Pause(t.Context(), time.Duration(house.Form(4, 15))*time.Second)
	return f
}

// seesNoRoom reports whether a server says in /readyz that there is no room: each knows what it was
// refused itself.
func (f *filled) seesNoRoom(t *testing.T, h *house.House) bool {
	t.Helper()
	for _, m := range h.Members {
		status, detail := readyDetail(t, m)
		f.ready = fmt.Sprintf("%d, %s", status, detail)
		if status == http.StatusServiceUnavailable && strings.Contains(detail, "no room") {
			return true
		}
	}
	return false
}

// refusals reads which callers were told that there is no room, or that the database is away.
func refusals(t *testing.T, h *house.House) []house.Told {
	t.Helper()
	file, err := os.Open(h.Told)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var list []house.Told
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line house.Told
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Code != "" { // the last may be half written
			list = append(list, line)
		}
	}
	return list
}

// firstTold is when the first caller was told a code, zero where none was.
func firstTold(t *testing.T, h *house.House, code posthouse.Code) time.Time {
	t.Helper()
	for _, line := range refusals(t, h) {
		if line.Code == string(code) {
			return line.At
		}
	}
	return time.Time{}
}

// judge counts what became of it all, from the event log and the provider's journal.
func (f *filled) judge(t *testing.T, h *house.House) {
	t.Helper()
	f.told = map[string]int{}
	for _, line := range refusals(t, h) {
		f.told[line.Code]++
	}
	stuck := map[string]time.Time{} // process number → when it could first not write a result
	for _, m := range h.Members {
		stuck[strconv.Itoa(m.PID())] = firstStuck(t, m)
	}
	unknown, ends, started := map[string]int{}, map[string]posthouse.State{}, map[string]time.Time{}
	_, err := h.Store(t).History.ExportEvents(t.Context(), "", "", func(e posthouse.Event) error {
		ends[e.Delivery] = e.To
		if e.To == posthouse.Unknown {
			unknown[e.Delivery]++
		}
		if e.Type == posthouse.EventStart {
			started[e.Delivery] = e.At
			if e.At.After(f.full) && e.At.Before(f.freed) {
				f.startedFull++
				if blind := stuck[processOf(e.Owner)]; !blind.IsZero() && e.At.After(blind) {
					f.startedBlind++
				}
			}
		} else if begun := started[e.Delivery]; begun.Before(f.freed) && e.At.After(f.freed) && e.From == posthouse.Sending {
			f.waited++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	arrived := byKey(h.Provider.Arrivals(t))
	for _, id := range f.accepted {
		if key := posthouse.DeliveryID(id, 1); ends[key] != posthouse.Sent || len(arrived[key]) == 0 {
			f.lost++
		}
	}
	for key, list := range arrived {
		f.explained += min(len(list)-1, unknown[key])
		f.unexplained += max(0, len(list)-1-unknown[key])
	}
}

// processOf reads the process number out of the name of a lease's owner: host-number-random.
func processOf(owner string) string {
	parts := strings.Split(owner, "-")
	return parts[max(0, len(parts)-2)]
}

// firstStuck is when a server first said that it could not write a result, zero where it never did.
func firstStuck(t *testing.T, m *house.Member) time.Time {
	t.Helper()
	for line := range strings.Lines(m.Log()) {
		if !strings.Contains(line, "results could not be recorded") {
			continue
		}
		var said struct{ Time time.Time }
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatalf("the log's line cannot be read: %v: %s", err, line)
		}
		return said.Time
	}
	return time.Time{}
}
