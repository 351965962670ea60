package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	trials "github.com/posthouse/posthouse/bench/peers/posthouse"
	"github.com/posthouse/posthouse/bench/trial"
	"github.com/posthouse/posthouse/internal/console"
	"github.com/posthouse/posthouse/internal/dbtest"
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
	dsn, pid, mark, drop, err := h.keptDatabase(ctx, backend)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	c := &crowded{line: &line{drop: func() error { return nil }}, settled: settled, open: settled / 10, cast: "INTEGER"}
	if backend == "mariadb" {
		c.cast = "SIGNED"
	}
	if err := c.openAt(ctx, dsn); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	start := time.Now()
	_, fresh := os.Stat(mark)
	if fresh != nil {
		if err := c.gather(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.signIn(ctx); err != nil {
		return nil, err
	}
	s, key, err := trials.Pages(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Stop(context.WithoutCancel(ctx))) }()
	v := &viewer{server: s, key: key, database: pid}
	filled := "filled before"
	if fresh != nil {
		if err := (furnisher{viewer: v, c: c}).furnish(ctx, min(campaignPeople, settled)); err != nil {
			return nil, err
		}
		if filled = "filled in " + short(time.Since(start)).String(); mark != "" {
			if err := os.WriteFile(mark, nil, 0o600); err != nil {
				return nil, err
			}
		}
	}
	return v.looks(backend, fmt.Sprintf("with %s settled and %s open; %s", thousands(settled), thousands(settled/10), filled))
}

// looks asks for everything.
func (v *viewer) looks(backend, note string) (out []finding, err error) {
	addresses, err := v.addresses()
	if err != nil {
		return nil, err
	}
	for _, a := range addresses { // what a server does when it starts is over then, and the database has seen each page once
		v.ask(a)
	}
	var all []timed
	var wrong []error
	for _, a := range addresses {
		t, err := v.asked(a)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		fmt.Fprintf(os.Stderr, "   %-9s %-72s p50 %8s worst %8s processor %8s %4d kB\n", backend, a, short(t.p50()), short(t.worst()), short(t.cpu), t.size/1000)
		all = append(all, t)
	}
	out = pageFindings(all, backend, note)
	live, err := v.live()
	live.Database = backend
	return append(out, live), errors.Join(append(wrong, err)...)
}

// keptDatabase is a database for pages, with the file that says it is filled. Where databases are kept it is the same one again.
func (h *house) keptDatabase(ctx context.Context, backend string) (dsn string, pid int, mark string, drop func() error, err error) {
	if h.o.keep == "" {
		dsn, pid, drop, err = h.database(ctx, backend)
		return dsn, pid, "", drop, err
	}
	dir, err := filepath.Abs(filepath.Join(h.o.keep, backend))
	if err == nil {
		err = os.MkdirAll(dir, 0o755) //nolint:gosec // the user of a database server goes through it
	}
	if err != nil {
		return "", 0, "", nil, err
	}
	mark, drop = filepath.Join(h.o.keep, backend+".filled"), func() error { return nil }
	if backend == "sqlite" {
		return "sqlite:" + filepath.Join(dir, "queue.db"), 0, mark, drop, nil
	}
	o := serverOptions[backend]
	o.Dir = dir
	s, err := dbtest.Start(o)
	if err != nil {
		return "", 0, "", nil, err
	}
	return s.DSN, s.PID(), mark, s.Stop, nil
}

// openAt opens a database and brings its schema up to date.
func (l *line) openAt(ctx context.Context, dsn string) (err error) {
	if l.raw, err = openRaw(dsn); err != nil {
		return err
	}
	if l.store, err = store.Open(ctx, store.Options{DSN: dsn}); err != nil {
		return err
	}
	_, err = l.store.Schema.Migrate(ctx)
	return err
}

// signIn lets people in who may see everything.
func (c *crowded) signIn(ctx context.Context) error {
	for i := range sessions {
		name := session(i)
		p := posthouse.Person{Name: name, Roles: map[string]posthouse.Role{lane.Tenant: posthouse.RoleAdmin}}
		if _, _, err := c.store.People.PutPerson(ctx, time.Now(), p); err != nil {
			return err
		}
		mark := fmt.Sprintf("%x", sha256.Sum256([]byte(name)))
		if _, err := c.raw.ExecContext(ctx, "DELETE FROM posthouse_passes WHERE mark = '"+mark+"'"); err != nil { // of a run before
			return err
		}
		if err := c.store.People.AddPass(ctx, time.Now(), work.Pass{Kind: work.PassSession, Mark: mark, Person: name}, 12*time.Hour); err != nil {
			return err
		}
	}
	return nil
}

// gather fills a database.
func (c *crowded) gather(ctx context.Context) error {
	if err := c.partitions(ctx); err != nil {
		return err
	}
	for _, name := range append([]string{"rare"}, crowdChannels...) { // nothing may be sent while pages are looked at
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

// timed is how long the requests of an address took, sorted; and what one costs the processors, of the server and its database, and weighs.
type timed struct {
	address string
	took    []time.Duration
	cpu     time.Duration
	size    int
}

func (t timed) p50() time.Duration   { return t.took[len(t.took)/2] }
func (t timed) worst() time.Duration { return t.took[len(t.took)-1] }

// asked asks for an address many times; one that takes seconds is asked for less often.
func (v *viewer) asked(address string) (timed, error) {
	t := timed{address: address}
	used, err := trial.Cost(v.database, func() error {
		for start := time.Now(); len(t.took) < pageAsked && (len(t.took) < 3 || time.Since(start) < 10*time.Second); {
			w, took := v.ask(address)
			if w.Code != http.StatusOK && w.Code != http.StatusSeeOther {
				return fmt.Errorf("%s is answered with %d: %.300s", address, w.Code, w.Body)
			}
			t.took, t.size = append(t.took, took), w.Body.Len()
		}
		return nil
	})
	if err != nil {
		return t, err
	}
	t.cpu = used / time.Duration(len(t.took))
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
			What: what, Database: backend, Value: t.p50().Seconds(), Text: fmt.Sprintf("%s, worst %s, processor %s", short(t.p50()), short(t.worst()), short(t.cpu)), Bound: "at most " + pageAtMost.String(), Note: note,
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

// filtered are pages with filters as people set them.
var filtered = []string{
	"?span=day", "?span=quarter", "search?q=u4711", "search?q=nobody", "search?q=" + url.QueryEscape("张三47"), "search?q=" + url.QueryEscape("张三99"), "search?q=13910004711", "search?q=leave/r4711",
	"search?channel=rare", "search?channel=sms", "search?kind=rare", "search?kind=leave", "search?state=sent", "search?state=delivered", "search?state=pending", "search?state=failed", "search?state=failed&channel=rare", "search?state=delivered&channel=mail",
	"attention?state=failed", "attention?state=expired", "attention?state=undelivered", "attention?channel=rare", "attention?state=failed&channel=rare", "attention?state=failed&channel=sms", "attention?state=quarantined",
	"notifications?state=waiting", "notifications?state=told", "notifications?state=acknowledged", "notifications?state=not_told", "tasks?state=open", "reminders?state=active", "campaigns?state=done", "campaigns/spring?address=" + addressOf(4711), "campaigns/spring/plan",
	"directory?q=u4711", "directory?q=" + url.QueryEscape("张三47"), "directory?role=team7", "audit?action=channels.put", "audit?target=fleet", "phones?state=active", "digests?state=waiting",
}

// lists are those of the API below the pages.
var lists = []string{
	"deliveries", "deliveries?user=u4711", "deliveries?state=failed", "deliveries?state=unknown", "deliveries?channel=rare", "deliveries?kind=rare", "deliveries?state=delivered", "deliveries?account=a1", "deliveries?state=failed,expired",
	"messages", "messages?user=u4711", "messages?kind=rare", "messages?channel=rare", "messages?kind=leave&ref=r4711", "messages?state=failed", "overview", "overview?minutes=129600", "users", "audit", "notifications", "campaigns",
}

// files are what a browser saves, which is as long as what it holds: no pages.
var files = []string{"search.csv", "campaigns/{name}/members", "campaigns/{name}/refused"}

// addresses are all pages of the console, those with filters, and the lists below them.
func (v *viewer) addresses() ([]string, error) {
	things, err := v.things()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, path := range console.Pages() {
		if slices.Contains(files, path) {
			continue
		}
		kind, _, _ := strings.Cut(path, "/")
		thing, ok := things[kind]
		switch {
		case strings.Contains(path, "account"):
			thing = "fleet"
		case path == "campaigns/{name}/content" || path == "campaigns/{name}/edit" || path == "campaigns/{name}/plan": // of one that has not begun
			thing = "draft"
		}
		if strings.Contains(path, "/{") && !ok {
			return nil, fmt.Errorf("nothing is known for the page %s", path)
		}
		out = append(out, "/console/t/default/"+strings.NewReplacer("{$}", "", "{id}", thing, "{name}", thing, "{driver}", thing, "{account}", "a7").Replace(path))
	}
	for _, page := range filtered {
		out = append(out, "/console/t/default/"+page)
	}
	for _, list := range lists {
		out = append(out, "/v1/"+list)
	}
	for _, state := range []string{"unknown", "failed", "sent", "delivered"} {
		d, err := v.first("deliveries?state=" + state)
		if err != nil {
			return nil, err
		}
		out = append(out, "/console/t/default/deliveries/"+d.ID, "/console/t/default/messages/"+d.Message, "/v1/deliveries/"+d.ID)
	}
	return out, nil
}

// things are what pages of one thing show, by the first word of their paths.
func (v *viewer) things() (map[string]string, error) {
	things := map[string]string{
		"channels": "bench", "drivers": "wecom", "presets": "telegram", "campaigns": "spring", "templates": "duty0", "rosters": "duty0", "directory": "u4711", "fronts": "alerts-0", "phones": "phone-0", "tasks": "task-000001",
		"routes": "way", "digests": "evening", "tenants": "default", "people": session(0),
	}
	for kind, list := range map[string]string{
		"deliveries": "deliveries?state=pending", "messages": "messages", "notifications": "notifications", "reminders": "reminders", "decisions": "decisions", "subscriptions": "subscriptions", "keys": "keys", "collections": "collections",
	} {
		one, err := v.first(list)
		if err != nil {
			return nil, err
		}
		things[kind] = one.ID
	}
	return things, nil
}

// one is the first of a list.
type one struct{ ID, Message string }

func (v *viewer) first(list string) (one, error) {
	w, _ := v.ask("/v1/" + list)
	var page struct{ Items []one }
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || len(page.Items) == 0 {
		return one{}, fmt.Errorf("/v1/%s has none: %d %.300s: %w", list, w.Code, w.Body, err)
	}
	return page.Items[0], nil
}
