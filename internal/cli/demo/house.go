package demo

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/simulator"
)

// house is what runs during the demo.
type house struct {
	server    *server.Server
	simulator *simulator.Simulator
	places    Places
	phones    *phones
	door      server.SMS // the SMS front door
	provided  provided
	printed   *screen // what the console channel prints
	log       *os.File
	dir       string
	temporary bool
}

// open starts simulator and server. What was started is stopped again where it fails.
func open(ctx context.Context, o Options) (_ *house, err error) {
	h := &house{dir: o.Dir, printed: &screen{}, door: door()}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close(ctx))
		}
	}()
	if err := h.makeDir(); err != nil {
		return nil, err
	}
	logger := slog.New(slog.NewJSONHandler(h.log, nil))
	if err := h.openSimulator(ctx, o, logger); err != nil {
		return nil, err
	}
	addr, err := orVacant(o.Addr)
	if err != nil {
		return nil, err
	}
	key := secret.FormatKey(secret.NewKey())
	s, err := server.New(ctx, server.Options{
		DSN:           "sqlite:" + filepath.Join(h.dir, "posthouse.db"),
		Addr:          addr,
		PublicURL:     onThisMachine(addr), // of the links by which notifications are acknowledged
		AdminKey:      key,
		AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, // the simulator's
		RescueEvery:   300 * time.Millisecond,                               // short deadlines pass in sight
		Poll:          100 * time.Millisecond,
		SMS:           h.door,
		Log:           logger,
		Output:        h.printed,
		Version:       o.Version,
		Sandbox:       h.simulator.URL(),
		AnnounceLink:  func(string) {}, // there is a person; a link is made at each start
	})
	if err != nil {
		return nil, err
	}
	h.server = s
	if err := s.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	h.places.API, h.places.Key = s.URL(), key
	h.places.Phones, h.places.SMSUser, h.places.SMSPassword = h.simulator.URL()+"/phones", h.door.Username, h.door.Password
	h.places.Docs, h.places.Metrics = s.URL()+"/docs", s.URL()+"/metrics"
	return h, nil
}

func (h *house) openSimulator(ctx context.Context, o Options, log *slog.Logger) error {
	random := make([]byte, 32)
	rand.Read(random)
	h.provided.secret = "whsec_" + base64.StdEncoding.EncodeToString(random)
	known, err := simulator.ParseSecret(h.provided.secret)
	if err != nil {
		return err
	}
	h.simulator = simulator.New(simulator.Options{Log: log, WebhookSecrets: []simulator.Secret{known}})
	if err := h.simulator.Start(ctx, orFree(o.SimulatorAddr)); err != nil {
		return err
	}
	mail, err := h.simulator.StartMail(ctx, "")
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(mail)
	if err != nil {
		return err
	}
	h.provided.simulator, h.provided.smsSecret, h.provided.mailHost = h.simulator.URL(), simulator.SMSSecret, host
	h.places.Simulator = h.simulator.URL()
	h.provided.mailPort, err = strconv.Atoi(port)
	return err
}

// makeDir makes the folder and opens the log in it.
func (h *house) makeDir() (err error) {
	if h.dir == "" {
		h.temporary = true
		if h.dir, err = os.MkdirTemp("", "posthouse-demo-"); err != nil {
			return fmt.Errorf("make a temporary folder: %w", err)
		}
	} else if err := os.MkdirAll(h.dir, 0o750); err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	h.places.Log = filepath.Join(h.dir, "posthouse.log")
	h.log, err = os.OpenFile(h.places.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the demo's log: %w", err)
	}
	return nil
}

// close stops what runs, the phones first and then the server, and removes a temporary folder. It goes on where its
// context has ended already: that is how a demo is left.
func (h *house) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	h.phones.end()
	var errs []error
	if h.server != nil {
		errs = append(errs, h.server.Stop(ctx))
	}
	if h.simulator != nil {
		errs = append(errs, h.simulator.Stop(ctx))
	}
	if h.log != nil {
		errs = append(errs, h.log.Close())
	}
	if h.temporary && h.dir != "" {
		errs = append(errs, os.RemoveAll(h.dir))
	}
	return errors.Join(errs...)
}

// orVacant is an address, or one whose port is free where it names none. Unlike orFree it is known before anything listens there.
func orVacant(addr string) (string, error) {
	addr = orFree(addr)
	if _, port, err := net.SplitHostPort(addr); err != nil || port != "0" {
		return addr, nil //nolint:nilerr // the server says what is wrong with it
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// onThisMachine is the URL by which an address that may be of all networks is reached from here.
func onThisMachine(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		addr = net.JoinHostPort("127.0.0.1", port)
	}
	return "http://" + addr
}

// orFree is an address, or a free port where none is given.
func orFree(addr string) string {
	if addr == "" {
		return "127.0.0.1:0"
	}
	return addr
}

// Vacant is the address if nobody listens there, else empty: a free port.
func Vacant(addr string) string {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return ""
	}
	l.Close()
	return addr
}

// screen keeps what is printed until somebody looks, and from then on passes it through.
type screen struct {
	mu   sync.Mutex
	kept []byte
	out  io.Writer
}

// Write keeps or passes.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out != nil {
		return s.out.Write(b)
	}
	s.kept = append(s.kept, b...)
	return len(b), nil
}

func (s *screen) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := string(s.kept)
	s.kept = nil
	return text
}

func (s *screen) live(out io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = out
}
