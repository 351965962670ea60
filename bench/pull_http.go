package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/bench/trial"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store"
)

// What phones ask a server for, all together, in one second: each of their claims is of phoneTasks, and each task is
// reported in a request of its own. One request in a hundred may take longer than pullAtMost.
const (
	pullPhones  = 64
	pullClaimed = 200
	pullAtMost  = 50 * time.Millisecond
	pullConns   = 1024 // what a server that falls behind keeps waiting beyond that waits at the phones
)

// pullHTTP times claims and reports of phones at a steady rate, over HTTP, with the server in a process of its own.
func (h *house) pullHTTP(ctx context.Context) (out []finding, err error) {
	binary := filepath.Join(h.dir, "posthouse")
	if err := build(ctx, "..", "./cmd/posthouse", binary); err != nil {
		return nil, err
	}
	for _, backend := range h.ownDatabases() {
		found, err := h.pullHTTPOn(ctx, binary, backend)
		out = append(out, found...)
		if err != nil {
			return out, fmt.Errorf("%s: %w", backend, err)
		}
	}
	return out, nil
}

func (h *house) pullHTTPOn(ctx context.Context, binary, backend string) (out []finding, err error) {
	dsn, database, drop, err := h.database(ctx, backend)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	warm, measured := 3*time.Second, 20*time.Second
	seconds := int((warm + measured + 5*time.Second).Seconds())
	if err := fillPulled(ctx, dsn, seconds*pullClaimed*phoneTasks); err != nil {
		return nil, err
	}
	if err := season(ctx, dsn); err != nil {
		return nil, err
	}
	key := secret.FormatKey(secret.NewKey())
	p, addr, err := startServer(ctx, binary, h.dir, dsn, key)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	c := &cloud{url: "http://" + addr, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: pullConns, MaxConnsPerHost: pullConns}}, reports: make(chan report, 1<<16)}
	if err := c.register(ctx, key); err != nil {
		return nil, err
	}
	if err := c.run(ctx, warm, nil); err != nil {
		return nil, err
	}
	before, usedBefore := h.load(), cpuOfServer(p, database)
	before.ours += trial.TreeCPU(p.cmd.Process.Pid) // it is counted among ours when it has ended
	var took pullTimes
	if err := c.run(ctx, measured, &took); err != nil {
		return nil, err
	}
	after, used := h.load(), cpuOfServer(p, database)-usedBefore
	after.ours += trial.TreeCPU(p.cmd.Process.Pid)
	note := fmt.Sprintf("; server and database take %.2f cores", used.Seconds()/measured.Seconds())
	if foreign := after.foreign(before); foreign > 0.1 {
		note += fmt.Sprintf("; foreign load %.0f %%", 100*foreign)
	}
	return took.findings(backend, measured, note), nil
}

// cpuOfServer is what the server and its database have used so far.
func cpuOfServer(p *program, database int) time.Duration {
	used := trial.TreeCPU(p.cmd.Process.Pid)
	if database != 0 {
		used += trial.TreeCPU(database)
	}
	return used
}

// fillPulled leaves n tasks waiting.
func fillPulled(ctx context.Context, dsn string, n int) (err error) {
	s, err := store.Open(ctx, store.Options{DSN: dsn, Log: slog.Default()})
	if err != nil {
		return err
	}
	l := &line{store: s}
	defer func() { err = errors.Join(err, s.Close()) }()
	_, err = s.Schema.Migrate(ctx)
	for ; n > 0 && err == nil; n -= queued {
		err = l.enter(ctx, queued)
	}
	return err
}

// season makes a new PostgreSQL like one that has run for a while. A new one creates each segment of its log when it
// gets there, 16 MiB of zeros and a sync, while every commit waits for 60 ms; later it uses old ones again.
func season(ctx context.Context, dsn string) (err error) {
	if !strings.HasPrefix(dsn, "postgres:") {
		return nil
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	const segments = 30 // as many as the run fills, twice
	for _, text := range slices.Concat(
		[]string{"ALTER SYSTEM SET min_wal_size = '1GB'", "SELECT pg_reload_conf()"},
		slices.Repeat([]string{"SELECT txid_current(), pg_switch_wal()"}, segments),
		[]string{"CHECKPOINT"},
	) {
		if _, err := conn.Exec(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

// startServer starts the built binary on a database.
func startServer(ctx context.Context, binary, dir, dsn, key string, more ...string) (*program, string, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, "", err
	}
	cmd := exec.CommandContext(ctx, binary, "serve", "--addr", addr, "--log-level", "error") //nolint:gosec // our own binary
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(append(os.Environ(), "POSTHOUSE_DSN="+dsn, "POSTHOUSE_API_KEY="+key, "POSTHOUSE_KEYRING_FILE="+filepath.Join(dir, "keys"), "POSTHOUSE_CREATE_KEYRING=true", "POSTHOUSE_CREATE=true"), more...)
	p, err := await(cmd, addr)
	return p, addr, err
}

// cloud is all phones of a run.
type cloud struct {
	url     string
	client  *http.Client
	phones  []phoneOf
	reports chan report // that are to be made
}

// phoneOf is a phone with its key.
type phoneOf struct{ id, key string }

// report is one that is to be made.
type report struct {
	phone *phoneOf
	posthouse.AgentReport
}

// post is one request; its answer goes into out.
func (c *cloud) post(ctx context.Context, method, path, key string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(text, out)
}

// register makes the channel and the phones, which have no limits of their own.
func (c *cloud) register(ctx context.Context, key string) error {
	if err := c.post(ctx, http.MethodPut, "/v1/channels/"+lane.Channel, key, map[string]any{"driver": "pull"}, nil); err != nil {
		return err
	}
	for n := range pullPhones {
		var made struct {
			Secret string `json:"secret"`
		}
		id := fmt.Sprintf("phone-%d", n)
		in := map[string]any{"id": id, "channels": []string{lane.Channel}, "limits": []any{}}
		if err := c.post(ctx, http.MethodPost, "/v1/agents", key, in, &made); err != nil {
			return err
		}
		c.phones = append(c.phones, phoneOf{id, made.Secret})
	}
	return nil
}

// pullTimes is how long requests took, from when they were due.
type pullTimes struct {
	mu              sync.Mutex
	claims, reports []time.Duration
	errs            []error
}

// run keeps the rate for a while. Requests begin when they are due, whether or not those before are answered, so what
// a slow server keeps waiting counts as its slowness.
func (c *cloud) run(ctx context.Context, length time.Duration, into *pullTimes) error {
	into = cmp.Or(into, &pullTimes{})
	const beat = 5 * time.Millisecond
	claims := pullClaimed * int(beat) / int(time.Second)
	var under sync.WaitGroup
	tick := time.NewTicker(beat)
	defer tick.Stop()
	start := time.Now()
	for n := 0; time.Since(start) < length && ctx.Err() == nil; n++ {
		due := start.Add(time.Duration(n) * beat)
		for time.Now().Before(due) {
			<-tick.C
		}
		for i := range claims {
			phone := &c.phones[(n*claims+i)%len(c.phones)]
			under.Go(func() { into.claim(due, c.claim(ctx, phone)) })
		}
		for range claims * phoneTasks {
			select {
			case r := <-c.reports:
				under.Go(func() { into.report(due, c.report(ctx, r)) })
			default: // the first beat has nothing to report
			}
		}
	}
	under.Wait()
	return errors.Join(append(into.errs[:min(len(into.errs), 3)], ctx.Err())...)
}

func (t *pullTimes) claim(due time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.claims = append(t.claims, time.Since(due))
	t.fail(err)
}

func (t *pullTimes) report(due time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reports = append(t.reports, time.Since(due))
	t.fail(err)
}

func (t *pullTimes) fail(err error) {
	if err != nil {
		t.errs = append(t.errs, err)
	}
}

// claim fetches tasks for a phone and has each of them reported.
func (c *cloud) claim(ctx context.Context, phone *phoneOf) error {
	var out struct {
		Handouts []posthouse.Handout `json:"handouts"`
	}
	err := c.post(ctx, http.MethodPost, "/v1/agents/"+phone.id+"/claims", phone.key, map[string]any{"claim_id": posthouse.NewID(), "max": phoneTasks}, &out)
	if err == nil && len(out.Handouts) != phoneTasks {
		err = fmt.Errorf("a phone was handed %d of %d", len(out.Handouts), phoneTasks)
	}
	for _, h := range out.Handouts {
		c.reports <- report{phone, posthouse.AgentReport{ReportID: posthouse.NewID(), Delivery: h.Delivery, Token: h.Token, Outcome: posthouse.OutcomeSent}}
	}
	return err
}

func (c *cloud) report(ctx context.Context, r report) error {
	return c.post(ctx, http.MethodPost, "/v1/agents/"+r.phone.id+"/report", r.phone.key, r.AgentReport, nil)
}

// findings judge the slowest of a hundred. The bounds are PostgreSQL's.
func (t *pullTimes) findings(backend string, length time.Duration, note string) (out []finding) {
	for _, one := range []struct {
		what string
		took []time.Duration
	}{
		{fmt.Sprintf("phones over HTTP, %d claims of %d a second", pullClaimed, phoneTasks), t.claims},
		{fmt.Sprintf("phones over HTTP, %s reports a second meanwhile", thousands(pullClaimed*phoneTasks)), t.reports},
	} {
		slices.Sort(one.took)
		p99 := one.took[len(one.took)*99/100]
		f := finding{
			What: one.what, Database: backend, Value: p99.Seconds(), Text: "p99 " + short(p99).String(),
			Note: fmt.Sprintf("p50 %s, slowest %s, %.0f/s for %s%s", short(median(one.took)), short(one.took[len(one.took)-1]), float64(len(one.took))/length.Seconds(), length, note),
		}
		if backend == "postgres" {
			f.Bound = "at most " + pullAtMost.String()
			f = f.atMost(pullAtMost.Seconds())
		}
		out = append(out, f)
	}
	return out
}
