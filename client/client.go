package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options makes a client. URL and Key are required.
type Options struct {
	// URL is where the server is, such as http://127.0.0.1:8080. Required.
	URL string
	// Key is an API key, ph_…. Required for everything but Health and Ready.
	Key string
	// HTTP makes the calls. Defaults to a client with a time-out of 30 seconds.
	HTTP *http.Client
	// Tries is how often a call that is safe to repeat is made at most, when the server can
	// not be reached or asks to come back later. Defaults to 4.
	Tries int
	// MaxWait bounds the wait before each repetition, whatever the server asks for; a server
	// that asks for more ends the call. Defaults to 10 seconds.
	MaxWait time.Duration
}

// Client calls one server with one key: each kind of thing that the server has is a field. It is safe for
// concurrent use.
type Client struct {
	Messages      Messages
	Deliveries    Deliveries
	Decisions     Decisions
	Reminders     Reminders
	Channels      Channels
	Templates     Templates
	Routes        Routes
	Notifications Notifications
	Digests       Digests
	Collections   Collections
	Rosters       Rosters
	Users         Users
	Accounts      Accounts
	Callbacks     Callbacks
	Fronts        Fronts
	Presets       Presets
	Media         Media
	Suppressions  Suppressions
	Keys          Keys
	Subscriptions Subscriptions
	Events        Events
	Tenants       Tenants
	// People use the console.
	People People
	Audit  Audit
	// Processes work on the server's database.
	Processes Processes
	// Examinations are what a process finds unsafe or broken, and the settings it was told.
	Examinations Examinations
	// Agents are the phones and programs that send by themselves, and Handouts what they hold.
	Agents   Agents
	Handouts Handouts
	// Tasks are those of workflows, Jobs those of the notification document, and Notices those of the duty document.
	Tasks   Tasks
	Jobs    Jobs
	Notices Notices
	Outbox  Outbox
	Logs    Logs
	// Campaigns are sent to many; Audiences are lists that several of them use.
	Campaigns Campaigns
	Audiences Audiences

	api *caller
}

// caller makes the calls of all resources.
type caller struct {
	base *url.URL
	o    Options
}

// New makes a client. Nothing is called yet.
func New(o Options) (*Client, error) {
	base, err := url.Parse(strings.TrimSuffix(o.URL, "/"))
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("the server's URL is %q: want one such as http://127.0.0.1:8080", o.URL)
	}
	if strings.ContainsFunc(o.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the API key holds spaces or characters that no key has")
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: 30 * time.Second}
	}
	if o.Tries <= 0 {
		o.Tries = 4
	}
	if o.MaxWait <= 0 {
		o.MaxWait = 10 * time.Second
	}
	return of(&caller{base: base, o: o}), nil
}

// URL is where the server is.
func (c *Client) URL() string { return c.api.base.String() }

func of(api *caller) *Client {
	return &Client{
		Messages: Messages{api}, Deliveries: Deliveries{api}, Decisions: Decisions{api}, Reminders: Reminders{api},
		Channels: Channels{api}, Templates: Templates{api}, Routes: Routes{api}, Notifications: Notifications{api}, Digests: Digests{api}, Collections: Collections{api}, Rosters: Rosters{api}, Users: Users{api}, Accounts: Accounts{api}, Callbacks: Callbacks{api}, Fronts: Fronts{api}, Presets: Presets{api}, Media: Media{api}, Suppressions: Suppressions{api}, Keys: Keys{api}, Subscriptions: Subscriptions{api}, Events: Events{api}, Tenants: Tenants{api}, People: People{api}, Audit: Audit{api}, Processes: Processes{api}, Examinations: Examinations{api},
		Agents: Agents{api}, Handouts: Handouts{api}, Tasks: Tasks{api}, Jobs: Jobs{api}, Notices: Notices{api},
		Outbox: Outbox{api}, Logs: Logs{api}, Campaigns: Campaigns{api}, Audiences: Audiences{api}, api: api,
	}
}

// request is one call of the API.
type request struct {
	method, path string // the path is escaped
	query        url.Values
	key          string // Idempotency-Key
	kind         string // content type of body
	body         []byte
	again        bool          // a repeat is answered as the first
	wait         time.Duration // how long the server may take longer than for others
}

// safe reports whether the call may be made again when nobody knows what became of it.
func (r *request) safe() bool { return r.method == http.MethodGet || r.key != "" || r.again }

// get reads one thing.
func get[T any](ctx context.Context, c *caller, path string, query url.Values) (T, error) {
	return call[T](ctx, c, request{method: http.MethodGet, path: path, query: query})
}

// path joins escaped segments below /v1.
func path(segments ...string) string {
	var b strings.Builder
	b.WriteString("/v1")
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}
