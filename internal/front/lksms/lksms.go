package lksms

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/read"
	"github.com/posthouse/posthouse/internal/web"
)

// Format is the form in which tasks are handed out.
type Format string

// The formats.
const (
	FormatList Format = "list" // data is the list of tasks, as documented
	FormatPage Format = "page" // data is {total_count, app_id, tasks}, as some apps want it
)

// Options makes the front door. Reader, Engine, Store, Agents, Texts, Gate, Username and Password are required.
type Options struct {
	// Reader reads tasks and logs.
	Reader read.Reader
	Engine Engine
	Store  Store
	Agents Agents
	Texts  Texts
	// Gate is the one of the native API.
	Gate *web.Gate
	// Rates let requests pass. Defaults to all.
	Rates web.Rates
	// Username and Password are the pair that all senders, phones and operators may share. Who shows them
	// sees the default tenant.
	Username, Password string
	// Channel is the pulled channel whose deliveries are the tasks. Defaults to sms.
	Channel string
	// Format defaults to FormatList. An app may ask for another.
	Format Format
	// PageAgents are the beginnings of the User-Agents of apps that are answered FormatPage. Defaults to none.
	PageAgents []string
	// Origins are the web pages that may call with a password, such as https://desk.example.com; "*" is all of them.
	// Defaults to none: browsers are refused.
	Origins []string
	// Sensitive marks every text as sensitive. Defaults to those whose request says so.
	Sensitive bool
	// Rules are what operators are shown of the retries. Defaults to nothing.
	Rules func(ctx context.Context, tenant string) (Rules, error)
	// TimeZone is the zone of the times in answers, which name none. Defaults to UTC.
	TimeZone *time.Location
	// MaxBody bounds a request's body, in bytes. Defaults to 4 MiB.
	MaxBody int64
	// Bodies bounds what is in memory of them at once. Defaults to sixteen of the largest.
	Bodies *web.Bodies
	// Audit is told who changed what. Defaults to none.
	Audit web.Book
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Rules are the channel's settings in the words of this front door.
type Rules struct {
	MaxRetries int
	RetryDelay time.Duration
	Timeout    time.Duration // of a task that an app holds
	FairAfter  time.Duration // that a due retry lets new tasks go first
}

// door is what handlers share.
type door struct {
	Options
	user, password [sha256.Size]byte
}

// New makes the front door's handler. It serves at once; it starts and stops nothing.
func New(o Options) (http.Handler, error) {
	if o.Engine == nil || o.Store == nil || o.Agents == nil || o.Texts == nil || o.Gate == nil || o.Username == "" || o.Password == "" {
		return nil, errors.New("lksms: Engine, Store, Agents, Texts, Gate, Username and Password are required")
	}
	o.Channel, o.Format = cmp.Or(o.Channel, "sms"), cmp.Or(o.Format, FormatList)
	if o.Format != FormatList && o.Format != FormatPage {
		return nil, fmt.Errorf("the format of pending tasks is %q: want %s or %s", o.Format, FormatList, FormatPage)
	}
	o.TimeZone, o.Log = cmp.Or(o.TimeZone, time.UTC), cmp.Or(o.Log, slog.Default())
	o.MaxBody = cmp.Or(o.MaxBody, 4<<20)
	if o.Bodies == nil {
		o.Bodies = web.NewBodies(0, o.MaxBody, o.Log)
	}
	if o.Rules == nil {
		o.Rules = func(context.Context, string) (Rules, error) { return Rules{}, nil }
	}
	d := &door{Options: o, user: sha256.Sum256([]byte(o.Username)), password: sha256.Sum256([]byte(o.Password))}
	mux := http.NewServeMux()
	for path, methods := range d.paths() {
		mux.Handle(path, d.handler(methods))
	}
	mux.Handle("/", d.handler(map[string]route{}))
	origin := http.NewCrossOriginProtection() // browsers send Basic by themselves, for pages of others too
	origin.SetDenyHandler(d.handler(nil))
	return d.sharing(mux, origin.Handler(mux)), nil
}

// route is one line of the front door: an address and what a key needs for it.
type route struct {
	method, path string
	// scope is what a key needs; empty for what needs no password.
	scope posthouse.Scope
	// action is its name in the audit log and in the limits of keys.
	action string
	// sight says that the handler keeps to what a narrowed key sees.
	sight bool
	serve func(*call) (answer, error)
}

// Actions are the names of what can be done here, for keys that are narrowed to some.
func Actions() []string {
	var list []string
	for _, r := range (&door{}).table() {
		if r.scope != "" && r.scope != posthouse.ScopeAgent {
			list = append(list, r.action)
		}
	}
	return list
}

// audits reports whether the use of a route is written to the audit log.
func (r route) audits() bool { return r.scope == posthouse.ScopeAdmin && r.method != http.MethodGet }

// table is every address there is.
func (d *door) table() []route {
	const (
		get, post, put           = http.MethodGet, http.MethodPost, http.MethodPut
		read, send, agent, admin = posthouse.ScopeRead, posthouse.ScopeSend, posthouse.ScopeAgent, posthouse.ScopeAdmin
	)
	var (
		sends, apps, library = sends{d}, &apps{door: d, hearing: newHearing()}, library{d}
		records, operator    = records{d}, operator{d}
	)
	return []route{
		{post, "/api/v1/sms/send", send, "sms.send", true, sends.send},
		{get, "/api/v1/sms/task/{task_id}", read, "sms.read", true, records.task},
		{get, "/api/v1/sms/tasks/pending", agent, "sms.claim", false, apps.pending},
		{post, "/api/v1/sms/report", agent, "sms.report", false, apps.report},

		{post, "/api/v1/admin/template", admin, "sms_templates.create", false, library.addTemplate},
		{get, "/api/v1/admin/template", admin, "sms_templates.read", false, library.templates},
		{put, "/api/v1/admin/template/{id}", admin, "sms_templates.put", false, library.setTemplate},
		{post, "/api/v1/admin/default-sms", admin, "sms_defaults.put", false, library.putDefault},
		{get, "/api/v1/admin/default-sms/{phone_number}", admin, "sms_defaults.read", false, library.defaultOf},
		{get, "/api/v1/admin/task-statistics", admin, "sms.tally", false, operator.statistics},
		{get, "/api/v1/admin/task-status-info", admin, "sms.states", false, operator.statusInfo},
		{get, "/api/v1/admin/rules", admin, "sms.rules", false, operator.rules},
		{post, "/api/v1/admin/recover-zombie-tasks", admin, "sms.recover", false, operator.recoverZombies},
		{get, "/api/v1/admin/task/{task_id}", admin, "sms.story", true, records.story},
		{get, "/api/v1/admin/logs/{log}", admin, "sms.logs", false, records.logs},

		{get, "/health", "", "", false, operator.health},
	}
}

// paths are the routes by path and method. A HEAD is no GET, but where nobody is asked for a password: who
// only looks must not be handed anything.
func (d *door) paths() map[string]map[string]route {
	out := map[string]map[string]route{}
	for _, r := range d.table() {
		if out[r.path] == nil {
			out[r.path] = map[string]route{}
		}
		out[r.path][r.method] = r
		if r.scope == "" {
			out[r.path][http.MethodHead] = r
		}
	}
	return out
}
