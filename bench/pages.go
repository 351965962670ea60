package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	trials "github.com/posthouse/posthouse/bench/peers/posthouse"
	"github.com/posthouse/posthouse/bench/trial"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/server"
)

// The bars of the console.
const (
	pageAtMost   = 100 * time.Millisecond
	viewerAtMost = 0.01 // of a core
	pageAsked    = 20   // times
	liveEvery    = 10 * time.Second
)

// viewer is the browser of an administrator, and a caller of the API.
type viewer struct {
	server   *server.Server
	key      string
	database int // the process of its server, 0 for none
	asks     int
}

// sessions are how many administrators look: each may ask for so many pages a minute.
const sessions = 100

// session is the cookie of one of them.
func session(i int) string { return fmt.Sprint("bench", i%sessions) }

// pages asks for every page of the console, and for the lists of the API below them, beside millions of deliveries.
func (h *house) pages(ctx context.Context) (out []finding, err error) {
	settled := cmp.Or(h.o.finished, 10_000_000)
	if h.o.quick && h.o.finished == 0 {
		settled = 100_000
	}
	for _, backend := range h.ownDatabases() {
		found, err := h.pagesOn(ctx, backend, settled)
		out = append(out, found...)
		if err != nil {
			return out, fmt.Errorf("%s: %w", backend, err)
		}
	}
	return out, nil
}

func (h *house) pagesOn(ctx context.Context, backend string, settled int) (out []finding, err error) {
	dsn, pid, drop, err := h.database(ctx, backend)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	start := time.Now()
	if err := gather(ctx, dsn, backend, settled); err != nil {
		return nil, err
	}
	filled := time.Since(start)
	s, key, err := trials.Pages(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Stop(context.WithoutCancel(ctx))) }()
	v := &viewer{server: s, key: key, database: pid}
	addresses, err := v.addresses()
	if err != nil {
		return nil, err
	}
	var all []timed
	for _, a := range addresses {
		t, err := v.asked(a)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "   %-9s %-72s p50 %8s worst %8s\n", backend, a, short(t.p50()), short(t.worst()))
		all = append(all, t)
	}
	what := fmt.Sprintf("with %s settled and %s open; ", thousands(settled), thousands(settled/10))
	out = pageFindings(all, backend, what+"filled in "+short(filled).String())
	live, err := v.live()
	live.Database = backend
	return append(out, live), err
}

// gather fills a database, with a person who may see everything.
func gather(ctx context.Context, dsn, backend string, settled int) (err error) {
	c := &crowded{line: &line{drop: func() error { return nil }}, settled: settled, open: settled / 10, cast: "INTEGER"}
	if backend == "mariadb" {
		c.cast = "SIGNED"
	}
	if c.raw, err = openRaw(dsn); err != nil {
		return err
	}
	if c.store, err = store.Open(ctx, store.Options{DSN: dsn}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if _, err := c.store.Schema.Migrate(ctx); err != nil {
		return err
	}
	for i := range sessions {
		name := session(i)
		p := posthouse.Person{Name: name, Roles: map[string]posthouse.Role{lane.Tenant: posthouse.RoleAdmin}}
		if _, _, err := c.store.People.PutPerson(ctx, time.Now(), p); err != nil {
			return err
		}
		sum := sha256.Sum256([]byte(name))
		if err := c.store.People.AddPass(ctx, time.Now(), work.Pass{Kind: work.PassSession, Mark: hex.EncodeToString(sum[:]), Person: name}, 12*time.Hour); err != nil {
			return err
		}
	}
	for _, name := range []string{lane.Channel, "rare"} { // nothing may be sent while pages are looked at
		if _, _, err := c.store.Channels.PutChannel(ctx, time.Now(), posthouse.Channel{Tenant: lane.Tenant, Name: name, Driver: "discard"}); err != nil {
			return err
		}
		if err := c.store.Channels.PauseChannel(ctx, time.Now(), lane.Tenant, name, true, "measured", time.Time{}); err != nil {
			return err
		}
	}
	return c.fillCrowd(ctx)
}

// ask is one request, and how long it took at the server.
func (v *viewer) ask(address string) (*httptest.ResponseRecorder, time.Duration) {
	r := httptest.NewRequest(http.MethodGet, address, nil)
	if strings.HasPrefix(address, "/console/") {
		v.asks++
		r.Header.Set("Cookie", "posthouse="+session(v.asks))
	} else {
		r.Header.Set("Authorization", "Bearer "+v.key)
	}
	w := httptest.NewRecorder()
	start := time.Now()
	v.server.Handler().ServeHTTP(w, r)
	return w, time.Since(start)
}

// timed is how long the requests of an address took, sorted.
type timed struct {
	address string
	took    []time.Duration
}

func (t timed) p50() time.Duration   { return t.took[len(t.took)/2] }
func (t timed) worst() time.Duration { return t.took[len(t.took)-1] }

// asked asks for an address many times; one that takes seconds is asked for less often.
func (v *viewer) asked(address string) (timed, error) {
	t := timed{address: address}
	for start := time.Now(); len(t.took) < pageAsked && (len(t.took) < 3 || time.Since(start) < 10*time.Second); {
		w, took := v.ask(address)
		if w.Code != http.StatusOK {
			return t, fmt.Errorf("%s is answered with %d: %.300s", address, w.Code, w.Body)
		}
		t.took = append(t.took, took)
	}
	slices.Sort(t.took)
	return t, nil
}

// pageFindings are one of all addresses, and one of each that is over the bar.
func pageFindings(all []timed, backend, note string) []finding {
	var p50s []time.Duration
	slowest := all[0]
	for _, t := range all {
		p50s = append(p50s, t.took...)
		if t.p50() > slowest.p50() {
			slowest = t
		}
	}
	slices.Sort(p50s)
	f := func(what string, t timed, note string) finding {
		return finding{
			What: what, Database: backend, Value: t.p50().Seconds(), Text: fmt.Sprintf("%s, worst %s", short(t.p50()), short(t.worst())), Bound: "at most " + pageAtMost.String(), Note: note,
		}.atMost(pageAtMost.Seconds())
	}
	out := []finding{f(fmt.Sprintf("pages: the slowest of %d, by its median", len(all)), slowest, fmt.Sprintf("%s; of all requests p50 %s, p99 %s; %s", slowest.address, short(median(p50s)), short(p50s[len(p50s)*99/100]), note))}
	for _, t := range all {
		if t.p50() > pageAtMost {
			out = append(out, f("pages: "+t.address, t, ""))
		}
	}
	return out
}

// live is what a viewer costs who leaves the first page open.
func (v *viewer) live() (f finding, err error) {
	took, err := trial.Cost(v.database, func() error {
		for range pageAsked {
			if w, _ := v.ask("/console/t/default/"); w.Code != http.StatusOK {
				return fmt.Errorf("the first page is answered with %d", w.Code)
			}
		}
		return nil
	})
	f = finding{What: "pages: a viewer of the first page, every " + liveEvery.String(), Value: took.Seconds() / pageAsked / liveEvery.Seconds(), Bound: "at most 1 % of a core", Note: short(took/pageAsked).String() + " of processor a look"}
	f.Text = fmt.Sprintf("%.2f %%", 100*f.Value)
	return f.atMost(viewerAtMost), err
}

// addresses are the pages and the lists below them.
func (v *viewer) addresses() ([]string, error) {
	of := func(query string) (d posthouse.Delivery, err error) {
		w, _ := v.ask("/v1/deliveries?limit=1&" + query)
		var list struct{ Items []posthouse.Delivery }
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list.Items) == 0 {
			return d, fmt.Errorf("no delivery for %s: %.300s: %w", query, w.Body, err)
		}
		return list.Items[0], nil
	}
	var out []string
	for _, page := range []string{
		"", "?span=day", "?span=quarter", "search", "search?q=u4711", "search?q=nobody", "search?q=" + url.QueryEscape("张三47"), "search?q=" + url.QueryEscape("张三99"), "search?q=13910004711", "search?q=leave/r4711",
		"search?channel=rare", "search?kind=rare", "search?kind=leave", "search?state=sent", "search?state=delivered", "search?state=pending", "search?state=failed&channel=rare",
		"attention", "attention?state=failed", "attention?state=expired", "attention?channel=rare", "attention?state=failed&channel=rare", "attention?state=quarantined",
		"compose", "channels", "channels/bench", "drivers", "campaigns", "new-campaign", "templates", "rosters", "directory", "phones", "tasks", "outbox", "audit", "keys", "people", "system",
	} {
		out = append(out, "/console/t/default/"+page)
	}
	for _, list := range []string{
		"deliveries", "deliveries?user=u4711", "deliveries?state=failed", "deliveries?state=unknown", "deliveries?channel=rare", "deliveries?kind=rare", "deliveries?state=delivered", "deliveries?account=a1", "deliveries?state=failed,expired",
		"messages", "messages?user=u4711", "messages?kind=rare", "messages?channel=rare", "messages?kind=leave&ref=r4711", "messages?state=failed", "overview", "overview?minutes=129600", "users", "audit",
	} {
		out = append(out, "/v1/"+list)
	}
	for _, query := range []string{"state=unknown", "state=failed", "state=sent", "state=pending"} {
		d, err := of(query)
		if err != nil {
			return nil, err
		}
		out = append(out, "/console/t/default/deliveries/"+d.ID, "/console/t/default/messages/"+d.Message, "/v1/deliveries/"+d.ID)
	}
	return out, nil
}
