package wide

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/torture/internal/house"
)

// task says to a process of workers what it is; it is in the environment as taskEnv.
type task struct {
	DSN, Key, Keyring, Dir string
	From, Workers          int
}

const taskEnv = "POSTHOUSE_WIDE_TASK"

// order is a line that a process of workers reads.
type order struct {
	Channel *posthouse.Channel `json:"channel,omitempty"` // by its first worker
	To      string             `json:"to,omitempty"`      // each worker accepts N messages for this channel
	N       int                `json:"n,omitempty"`
}

// said is a line that a process of workers writes.
type said struct {
	Ready bool     `json:"ready,omitempty"`
	Done  bool     `json:"done,omitempty"` // an order
	IDs   []string `json:"ids,omitempty"`  // that were accepted
	Error string   `json:"error,omitempty"`
	Sent  *sent    `json:"sent,omitempty"`
}

// sent is what a worker handed to its driver.
type sent struct {
	Worker   int       `json:"worker"`
	Channel  string    `json:"channel"`
	Delivery string    `json:"delivery"`
	At       time.Time `json:"at"`
}

// TestMain runs the tests, or is a process of workers.
func TestMain(m *testing.M) {
	text := os.Getenv(taskEnv)
	if text == "" {
		os.Exit(m.Run())
	}
	var of task
	err := json.Unmarshal([]byte(text), &of)
	if err == nil {
		err = work(of, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// workers are the servers of one process.
type workers struct {
	of      task
	servers []*server.Server
	mu      sync.Mutex // of out
	out     *json.Encoder
}

// work starts the servers of a process, carries out what it is told, and stops them at the end of its input.
func work(of task, in io.Reader, out io.Writer) (err error) {
	w := &workers{of: of, out: json.NewEncoder(out)}
	defer func() { err = errors.Join(err, w.stop()) }()
	for n := range of.Workers {
		s, err := w.open(of.From + n)
		if err != nil {
			return err
		}
		w.servers = append(w.servers, s)
		if err := s.Start(context.Background()); err != nil {
			return err
		}
	}
	w.say(said{Ready: true})
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		ids, err := w.carryOut(o)
		line := said{Done: true, IDs: ids}
		if err != nil {
			line.Error = err.Error()
		}
		w.say(line)
	}
	return nil
}

func (w *workers) say(line said) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.out.Encode(line) // who read it may be gone
}

// stop stops all at once.
func (w *workers) stop() error {
	errs := make([]error, len(w.servers))
	var all sync.WaitGroup
	for i, s := range w.servers {
		all.Go(func() { errs[i] = s.Stop(context.Background()) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (w *workers) open(n int) (*server.Server, error) {
	dir := filepath.Join(w.of.Dir, fmt.Sprint("worker-", n))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return server.New(context.Background(), server.Options{
		DSN: w.of.DSN, NoListen: true, AdminKey: w.of.Key, KeyringFile: w.of.Keyring, CreateKeyring: true, StateDir: dir,
		Drivers: []channel.Type{driverOf(w, n)}, Output: io.Discard,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})).With("worker", n),
	})
}

func (w *workers) carryOut(o order) (ids []string, err error) {
	ctx := context.Background()
	if o.Channel != nil {
		_, err := w.servers[0].PutChannel(ctx, "", *o.Channel)
		return nil, err
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for i, s := range w.servers {
		all.Go(func() {
			for n := range o.N {
				id, e := accept(ctx, s, o.To, fmt.Sprintf("%d of worker %d", n, w.of.From+i))
				mu.Lock()
				if err = errors.Join(err, e); e == nil {
					ids = append(ids, id)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return ids, err
}

// accept hands in a message, again under the same key where the database was too busy to answer.
func accept(ctx context.Context, s *server.Server, to, text string) (id string, err error) {
	d := posthouse.Draft{Channel: to, To: []posthouse.Recipient{{Address: "ops@example.com"}}, Content: &posthouse.Content{Text: text}, DedupKey: rand.Text()}
	for range 10 {
		var list []posthouse.Accepted
		if list, err = s.Accept(ctx, "", d); err == nil {
			return list[0].Deliveries[0].ID, nil
		}
		house.Pause(ctx, time.Second)
	}
	return "", err
}

// driverOf is the provider of one worker: it answers after a while that everything has arrived.
func driverOf(w *workers, n int) channel.Type {
	return channel.Type{
		Name: "wide", Title: "Wide", TitleZH: "多进程", Doc: "Notes what is sent.", DocZH: "记录发送的消息。",
		Open: func(channel.Config, channel.Env) (channel.Driver, error) { return driver{w, n}, nil },
	}
}

type driver struct {
	of *workers
	n  int
}

// answersAfter is how long a call takes.
const answersAfter = 500 * time.Millisecond

func (d driver) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	d.of.say(said{Sent: &sent{Worker: d.n, Channel: out.Channel, Delivery: out.Delivery, At: time.Now()}})
	timer := time.NewTimer(answersAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
		return channel.Result{Class: posthouse.ClassOK}
	case <-ctx.Done():
		return channel.Result{Class: posthouse.ClassUnknown, Error: "no answer"}
	}
}
