package pull

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/verify"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/proxy"
)

// TestTheSenderAppDiesAndSendsNothingTwice runs the product's own sender app over the simulator's phones, which
// remember nothing, and kills it again and again while it sends: its journal is all it has.
func TestTheSenderAppDiesAndSendsNothingTwice(t *testing.T) {
	t.Parallel()
	house.EachDatabase(t, func(t *testing.T, db house.Database) {
		t.Parallel()
		h := house.Open(t, house.Options{DSN: db.DSN(t), Members: db.Several(2)})
		h.PutChannel(t, pulled())
		n := house.Size(80, 2000)
		var done atomic.Bool
		var killed atomic.Int64
		var senders sync.WaitGroup
		network := newNetwork(t, h)
		for i := range 4 {
			s := newSender(t, h, network, i)
			senders.Go(func() {
				for !done.Load() && t.Context().Err() == nil {
					killed.Add(s.live(&done))
				}
			})
		}
		network.transport.CloseIdleConnections()
		network.set(lawless())
		h.Produce(t, house.Load{Messages: n, Producers: 2, Draft: func(n int) posthouse.Draft { return text(channelName, n) }})
		network.set(proxy.Faults{})
		h.Settle(t, posthouse.Unknown)
		done.Store(true)
		senders.Wait()
		h.Fault(t, house.Fault{Kind: "kill", Target: "senders", N: int(killed.Load())})
		report := h.Judge(t)
		copies := report.Totals.DuplicatedExplained + report.Totals.DuplicatedUnexplained
		house.Report(t, house.Row{
			Test: "PULL", Database: string(db), What: "kill -9 of the sender app while it sends, 4 phones", N: int(killed.Load()), Unit: "kills",
			Figure: fmt.Sprintf("%d lost, %d sent twice; %d sent, %d held as unknown", report.Totals.Lost, copies,
				report.Totals.States[posthouse.Sent], report.Totals.States[posthouse.Unknown]),
			Bar: "none lost, none sent twice", Bound: house.Bound(int(killed.Load())), Pass: report.Verdict == verify.Holds && copies == 0,
		})
	})
}

// sender is an agent of the product, its key and its journal.
type sender struct {
	t      *testing.T
	args   []string
	dir    string
	random *rand.Rand
}

func newSender(t *testing.T, h *house.House, n *network, number int) *sender {
	t.Helper()
	s := &sender{t: t, dir: t.TempDir(), random: rand.New(rand.NewPCG(uint64(number), 3))}
	id := fmt.Sprintf("sender-%d", number)
	key, err := n.register(t.Context(), h, id)
	if err != nil {
		t.Fatal(err)
	}
	s.args = []string{
		"agent", "--url", "http://" + n.links[number%len(n.links)].Addr(), "--app-id", id, "--key", key, "--phone", h.Provider.URL, "--journal", filepath.Join(s.dir, "journal.jsonl"),
		"--wait", "200ms", "--max", "5", "--pace", "10ms", "--failure-rate", "0.05", "--seed", fmt.Sprint(number + 1),
	}
	return s
}

// live runs the app until it is killed, or the run is over. It is killed a random moment after it first wrote to its journal: on a
// busy machine an app that is killed by the clock alone never comes to send. It reports how often it was killed: once, or not.
func (s *sender) live(done *atomic.Bool) int64 {
	cmd := exec.Command(house.Binary(s.t), s.args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	before := s.written()
	if err := cmd.Start(); err != nil {
		s.t.Error(err)
		return 0
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var life time.Time // its end, zero until it has written
	for !done.Load() && (life.IsZero() || time.Now().Before(life)) {
		select {
		case err := <-ended:
			s.t.Errorf("the sender app ended by itself: %v\n%s", err, said.String())
			done.Store(true)
			return 0
		case <-time.After(5 * time.Millisecond):
		}
		if life.IsZero() && s.written() != before {
			life = time.Now().Add(time.Duration(s.random.Int64N(int64(400 * time.Millisecond))))
		}
	}
	_ = cmd.Process.Kill() // its end says so
	<-ended
	if done.Load() {
		return 0 // nothing was left to send
	}
	return 1
}

// written is how long the journal is: 0 before there is one.
func (s *sender) written() int64 {
	info, err := os.Stat(filepath.Join(s.dir, "journal.jsonl"))
	if err != nil {
		return 0
	}
	return info.Size()
}
