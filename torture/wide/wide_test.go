package wide

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// size is how much a run does.
type size struct {
	processes, each int           // workers of a process; one more process joins
	backlog         int           // messages that each worker accepts
	before          int           // of them are sent when a process is killed
	limited, limit  int           // messages that each worker accepts for the channel with a limit, and how many of them may leave a window
	rest, looks     time.Duration // how long they have nothing to do before they are looked at, and then
}

// window is that of the limit. Sends are counted in a little less: a grant may be used a moment later than another.
const (
	window = 5 * time.Second
	blur   = time.Second
)

var workersEach = flag.Int("wide.each", 5, "how many `WORKERS` each of four processes has in the long form")

func sizeHere() size {
	return size{processes: 4, each: *workersEach, backlog: 40, before: 40 * *workersEach, limited: 2, limit: 100, rest: 45 * time.Second, looks: 30 * time.Second}
}

// connectionsOf are those of one worker at most; the server has as many for all of them, and some for the test.
var connectionsOf = map[dbtest.Kind]int{dbtest.KindPostgres: 17, dbtest.KindMariaDB: 32}

var room = map[dbtest.Kind]string{dbtest.KindPostgres: "-cmax_connections=%d", dbtest.KindMariaDB: "--max-connections=%d"}

// G4: whole servers on one database, 20 of them, or as many as -wide.each says.
func TestG4ManyWorkersOnOneDatabase(t *testing.T) {
	if !house.Full() {
		return // it takes minutes, and a machine to itself
	}
	for _, kind := range []dbtest.Kind{dbtest.KindPostgres, dbtest.KindMariaDB} {
		t.Run(string(kind), func(t *testing.T) { run(t, kind, sizeHere()) })
	}
}

func run(t *testing.T, kind dbtest.Kind, s size) {
	n := s.processes * s.each
	f := &field{db: dbtest.Own(t, dbtest.Options{Kind: kind, Args: []string{fmt.Sprintf(room[kind], (n+s.each)*connectionsOf[kind]+20)}})}
	f.key, f.dir = secret.FormatKey(secret.NewKey()), t.TempDir()
	var crowd []*process
	for i := range s.processes { // one after the other: the machine is small
		crowd = append(crowd, f.launch(t, i*s.each, s.each))
		crowd[i].await(t)
	}
	ch := posthouse.Channel{Name: "open", Driver: "wide"}
	ch.MaxInflight, ch.OnUnknown, ch.Timeout = 1, posthouse.Retry, posthouse.Duration(5*time.Second)
	crowd[0].order(t, order{Channel: &ch})
	ch.Name, ch.Limits, ch.MaxInflight = "limited", []posthouse.Limit{{Max: s.limit, Per: posthouse.Duration(window)}}, 10
	crowd[0].order(t, order{Channel: &ch})

	f.rest(t, s, n)
	ids := f.limited(t, crowd, s, n)
	ids = append(ids, f.lose(t, crowd, s, n)...)
	t.Run("ids", func(t *testing.T) {
		same := len(ids) - len(slices.Compact(slices.Sorted(slices.Values(ids))))
		house.Report(t, house.Row{
			Test: "G4", Database: string(kind), What: fmt.Sprintf("ids that %d workers make at once", n), N: len(ids), Unit: "ids",
			Figure: fmt.Sprintf("%d twice", same), Bar: "0 twice", Bound: house.Bound(len(ids)), Pass: same == 0,
		})
	})
}

// rest measures workers that have nothing to do.
func (f *field) rest(t *testing.T, s size, n int) {
	t.Helper()
	house.Pause(t.Context(), s.rest)
	x := f.measure(t, s.looks)
	silent := n - f.number(t, present[f.db.Kind()])
	t.Run("rest", func(t *testing.T) {
		beats := ""
		if f.db.Kind() == dbtest.KindPostgres {
			beats = fmt.Sprintf(", %.1f heartbeats a second of all", x.Beats)
		}
		house.Report(t, house.Row{
			Test: "G4", Database: string(f.db.Kind()), What: "workers with nothing to do", N: n, Unit: "workers",
			Figure: fmt.Sprintf("%.1f transactions a second and worker%s, %.2f processors of the database; %.1f connections a worker at most; %d workers look gone", x.Transactions/float64(n), beats, x.Processor, float64(x.Connections)/float64(n), silent),
			Bar:    "none looks gone, the bound of connections holds", Pass: silent == 0 && x.Connections <= n*connectionsOf[f.db.Kind()],
		})
	})
}

// limited has all of them send by a channel with one limit.
func (f *field) limited(t *testing.T, crowd []*process, s size, n int) (ids []string) {
	t.Helper()
	x := f.during(t, func() {
		ids = f.hand(t, crowd, "limited", s.limited)
		house.UntilMore(t, "limited sends", int64(n*s.limited), func() int64 { return int64(len(f.of("limited"))) })
	})
	list := f.of("limited")
	over := most(list, window-blur)
	t.Run("limit", func(t *testing.T) {
		writes := ""
		if f.db.Kind() == dbtest.KindPostgres {
			writes = fmt.Sprintf(", %.1f writes of limits a second", x.Limits)
		}
		house.Report(t, house.Row{
			Test: "G4", Database: string(f.db.Kind()), What: fmt.Sprintf("a limit of %d in %s that %d workers share", s.limit, window, n), N: len(list), Unit: "sends",
			Figure: fmt.Sprintf("at most %d within %s; %d workers sent, one of them %d at most%s, %.1f transactions a second and worker", over, window-blur, senders(shares(list, 0, n)), slices.Max(shares(list, 0, n)), writes, x.Transactions/float64(n)),
			Bar:    fmt.Sprintf("at most %d", s.limit), Pass: over <= s.limit,
		})
	})
	return ids
}

// lose kills a process with all of its workers in the middle of a backlog, and another one comes.
func (f *field) lose(t *testing.T, crowd []*process, s size, n int) (ids []string) {
	t.Helper()
	kind := f.db.Kind()
	x := f.during(t, func() {
		ids = f.hand(t, crowd, "open", s.backlog)
		house.UntilMore(t, "sends", int64(s.before), func() int64 { return int64(len(f.of("open"))) })
	})
	before := shares(f.of("open"), 0, n)
	last, killed := crowd[len(crowd)-1], time.Now()
	last.kill(t)
	late := f.launch(t, n, s.each)
	over := make(chan time.Duration, 1)
	var looking sync.WaitGroup
	looking.Go(func() {
		house.Until(t, "what the dead had", func() bool { return f.ask(t, fmt.Sprintf(held[kind], last.cmd.Process.Pid)) == "0" })
		over <- time.Since(killed)
	})
	late.await(t)
	joined := time.Now()
	extra := f.hand(t, []*process{crowd[0]}, "open", n/s.each*s.backlog) // so that there is something left for them
	ids = append(ids, extra...)
	house.Until(t, "all of the new to send", func() bool { return slices.Min(shares(f.of("open"), n, n+s.each)) > 0 })
	settled := time.Since(joined)
	house.UntilMore(t, "all sends", int64(len(ids)), func() int64 { return int64(distinct(f.of("open"))) })
	looking.Wait()
	again := len(f.of("open")) - len(ids)
	t.Run("lost", func(t *testing.T) {
		house.Report(t, house.Row{
			Test: "G4", Database: string(kind), What: fmt.Sprintf("%d of %d workers are killed amid a backlog, and %d others come", s.each, n, s.each), N: len(ids), Unit: "messages",
			Figure: fmt.Sprintf("shares before it %d to %d of %d; what the dead had was taken over after %s, all new ones sent after %s; lost 0, sent again %d; %.1f connections a worker at most, %.1f transactions a second and worker",
				before[0], before[n-1], s.before, (<-over).Round(time.Second/10), settled.Round(time.Second/10), again, float64(x.Connections)/float64(n), x.Transactions/float64(n)),
			Bar: fmt.Sprintf("lost 0, again at most the %d that the dead had under way, the bound of connections holds", s.each), Bound: house.Bound(len(ids)),
			Pass: again <= s.each && x.Connections <= n*connectionsOf[kind],
		})
	})
	return ids
}

// senders are how many sent at all.
func senders(shares []int) (n int) {
	for _, s := range shares {
		if s > 0 {
			n++
		}
	}
	return n
}

// present are the workers that others see.
var present = map[dbtest.Kind]string{
	dbtest.KindPostgres: "SELECT COUNT(*)::text FROM posthouse_processes WHERE seen_at > extract(epoch FROM clock_timestamp()) * 1000000 - 60000000",
	dbtest.KindMariaDB:  "SELECT COUNT(*) FROM posthouse.posthouse_processes WHERE seen_at > UNIX_TIMESTAMP() * 1000000 - 60000000",
}

// held counts what the workers of a process have claimed.
var held = map[dbtest.Kind]string{
	dbtest.KindPostgres: "SELECT ((SELECT COUNT(*) FROM posthouse_flights WHERE owner LIKE '%%-%[1]d-%%') + (SELECT COUNT(*) FROM posthouse_queue WHERE lease_owner LIKE '%%-%[1]d-%%'))::text",
	dbtest.KindMariaDB:  "SELECT (SELECT COUNT(*) FROM posthouse.posthouse_flights WHERE owner LIKE '%%-%[1]d-%%') + (SELECT COUNT(*) FROM posthouse.posthouse_queue WHERE lease_owner LIKE '%%-%[1]d-%%')",
}

// field is a database, and all that works on it.
type field struct {
	db       *dbtest.Server
	key, dir string

	mu    sync.Mutex
	sends []sent
}

// of are the sends of a channel so far.
func (f *field) of(channel string) (list []sent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sends {
		if s.Channel == channel {
			list = append(list, s)
		}
	}
	return list
}

func (f *field) ask(t *testing.T, query string) string {
	t.Helper()
	text, err := f.db.Ask(query)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (f *field) number(t *testing.T, query string) int {
	t.Helper()
	n, err := strconv.Atoi(f.ask(t, query))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// hand has all workers of some processes accept messages, at the same time.
func (f *field) hand(t *testing.T, crowd []*process, channel string, n int) (ids []string) {
	t.Helper()
	lists := make([][]string, len(crowd))
	var all sync.WaitGroup
	for i, p := range crowd {
		all.Go(func() { lists[i] = p.order(t, order{To: channel, N: n}) })
	}
	all.Wait()
	return slices.Concat(lists...)
}

// figures are of the database, a second.
type figures struct {
	Transactions, Beats, Limits float64
	Processor                   float64 // of one
	Connections                 int     // at most
}

var questions = map[dbtest.Kind]string{
	dbtest.KindPostgres: "SELECT xact_commit::text FROM pg_stat_database WHERE datname = 'posthouse'",
	dbtest.KindMariaDB:  "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'QUESTIONS'",
}

const written = "SELECT (n_tup_ins + n_tup_upd)::text FROM pg_stat_user_tables WHERE relname = 'posthouse_%s'"

var counted = map[dbtest.Kind]string{
	dbtest.KindPostgres: "SELECT COUNT(*)::text FROM pg_stat_activity WHERE application_name = 'posthouse'",
	dbtest.KindMariaDB:  "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE db = 'posthouse'",
}

func (f *field) look(t *testing.T) (x figures) {
	t.Helper()
	x.Transactions = float64(f.number(t, questions[f.db.Kind()]))
	if f.db.Kind() == dbtest.KindPostgres {
		x.Beats, x.Limits = float64(f.number(t, fmt.Sprintf(written, "processes"))), float64(f.number(t, fmt.Sprintf(written, "limits")))
	}
	x.Processor = house.Processor(t, f.db.PID()).Seconds()
	return x
}

// during measures while something is done.
func (f *field) during(t *testing.T, what func()) (x figures) {
	t.Helper()
	before, began := f.look(t), time.Now()
	ended := make(chan struct{})
	var counting sync.WaitGroup
	most := 0
	counting.Go(func() {
		for {
			most = max(most, f.number(t, counted[f.db.Kind()]))
			select {
			case <-ended:
				return
			case <-time.After(500 * time.Millisecond):
			}
		}
	})
	what()
	close(ended)
	counting.Wait()
	after, took := f.look(t), time.Since(began).Seconds()
	return figures{
		Transactions: (after.Transactions - before.Transactions) / took, Beats: (after.Beats - before.Beats) / took, Limits: (after.Limits - before.Limits) / took,
		Processor: (after.Processor - before.Processor) / took, Connections: most,
	}
}

func (f *field) measure(t *testing.T, d time.Duration) figures {
	t.Helper()
	return f.during(t, func() { house.Pause(t.Context(), d) })
}

// process is one with some workers.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan said
	log   strings.Builder
	ended sync.Once
}

// launch starts one.
func (f *field) launch(t *testing.T, from, n int) *process {
	t.Helper()
	text, err := json.Marshal(task{DSN: f.db.DSN, Key: f.key, Keyring: filepath.Join(f.dir, "keys"), Dir: f.dir, From: from, Workers: n})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(os.Args[0]), lines: make(chan said, 16)}
	p.cmd.Env = append(os.Environ(), taskEnv+"="+string(text))
	p.cmd.Stderr = &p.log
	var out io.Reader
	if p.in, err = p.cmd.StdinPipe(); err == nil {
		out, err = p.cmd.StdoutPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(p.lines)
		for in := bufio.NewReader(out); ; {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			var s said
			if err := json.Unmarshal(line, &s); err != nil {
				s.Error = string(line)
			}
			if s.Sent == nil {
				p.lines <- s
				continue
			}
			f.mu.Lock()
			f.sends = append(f.sends, *s.Sent)
			f.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		p.ended.Do(func() {
			p.in.Close()
			<-read
			if err := p.cmd.Wait(); err != nil {
				t.Errorf("workers from %d on: %v", from, err)
			}
		})
		if p.log.Len() > 0 {
			text := p.log.String()
			t.Logf("workers from %d on, %d lines: %s", from, strings.Count(text, "\n"), text[:min(len(text), 6000)])
		}
	})
	return p
}

// await waits for the next line.
func (p *process) await(t *testing.T) said {
	t.Helper()
	s, ok := <-p.lines
	if !ok || s.Error != "" {
		t.Fatalf("workers: %v %s\n%s", ok, s.Error, p.log.String())
	}
	return s
}

func (p *process) order(t *testing.T, o order) []string {
	t.Helper()
	if err := json.NewEncoder(p.in).Encode(o); err != nil {
		t.Error(err)
	}
	return p.await(t).IDs
}

// kill ends all of its workers where they stand.
func (p *process) kill(t *testing.T) {
	t.Helper()
	p.ended.Do(func() {
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for range p.lines {
		}
		_ = p.cmd.Wait()
	})
}

// shares are how many sends each worker of a range made.
func shares(list []sent, from, to int) []int {
	out := make([]int, to-from)
	for _, s := range list {
		if s.Worker >= from && s.Worker < to {
			out[s.Worker-from]++
		}
	}
	slices.Sort(out)
	return out
}

func distinct(list []sent) int {
	ids := map[string]bool{}
	for _, s := range list {
		ids[s.Delivery] = true
	}
	return len(ids)
}

// most is how many sends lie within some time of each other, at most.
func most(list []sent, within time.Duration) (n int) {
	slices.SortFunc(list, func(a, b sent) int { return a.At.Compare(b.At) })
	from := 0
	for i := range list {
		for list[i].At.Sub(list[from].At) >= within {
			from++
		}
		n = max(n, i-from+1)
	}
	return n
}
