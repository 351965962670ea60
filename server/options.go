package server

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/builtin"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/rule"
	"github.com/posthouse/posthouse/wire"
)

// What Options.AfterPromotion can be.
const (
	PromotionWait     = "wait"
	PromotionNewEpoch = "new-epoch"
)

// DefaultTimeZone is the zone of a server that is given none: its users' days and rosters are those of China.
const DefaultTimeZone = "Asia/Shanghai"

// Options makes a server. DSN is required; the zero value of everything else works.
type Options struct {
	// DSN is the database: sqlite:PATH, postgres://… or mysql://… (MariaDB too). Required.
	DSN string
	// ReadDSN is a replica of that database, which answers lists, searches, exports and charts in its place: a hot standby of PostgreSQL or a
	// replica of MariaDB. Nothing that decides is read there. The start is refused where it is none of this very installation. Defaults to none.
	ReadDSN string
	// ReadMaxLag is how far the replica may be behind; beyond it the database answers itself. Defaults to 30s.
	ReadMaxLag time.Duration
	// MustExist refuses an SQLite file that is not there or empty, instead of making it and its folder. Defaults to false.
	MustExist bool
	// Addr is where the HTTP API listens. Defaults to 127.0.0.1:8080; port 0 takes a free one.
	Addr string
	// NoListen serves nothing at Addr: the program that embeds the server serves Server.Handler where it likes.
	// Defaults to false.
	NoListen bool
	// AdminKey is an API key of scope admin for the default tenant, in the form ph_<id>_<secret>.
	// Defaults to a new one that is made, stored and announced once when the database has no key yet.
	AdminKey string
	// Announce is told of a key that was made at the first start. Defaults to writing it to Output.
	Announce func(key string)
	// AnnounceLink is told of a link by which the first person signs in to the console, both made at the first start: the part
	// behind the server's URL. Defaults to none: then there is nobody until somebody is made.
	AnnounceLink func(path string)
	// PublicURL is where browsers see the server, such as https://posthouse.example: where an OpenID provider sends them back to.
	// Defaults to what each request says by its Host.
	PublicURL string
	// RequireTOTP lets people use the console only once they have set up one-time codes. Defaults to false.
	RequireTOTP bool
	// OIDC is an OpenID provider that people come in by. Defaults to none.
	OIDC OIDC
	// Sandbox is the URL of the simulator, of a demo: the console says on each page that nothing reaches a person. Defaults to none.
	Sandbox string
	// Keyring encrypts the secrets of channels: a text of "id:base64" keys, the newest last. Defaults to
	// the file KeyringFile.
	Keyring string
	// KeyringFile holds the keyring, readable by its owner only. It is made where it does not exist and the database
	// knows none, for SQLite or with CreateKeyring. Defaults to posthouse.keys beside the SQLite file, or in the
	// working directory.
	KeyringFile string
	// CreateKeyring makes KeyringFile for a database that several processes can share: the others need a copy of it.
	// Defaults to false.
	CreateKeyring bool
	// AdoptKeyring starts with a keyring that is not the database's, for when that one is lost: what it sealed stays
	// unreadable, and each secret has to be typed in again. Defaults to false.
	AdoptKeyring bool
	// StateDir is the folder where this process remembers how far the database had come, so that the next start notices
	// one that went back to a backup. Defaults to that of the SQLite file, or the working directory.
	StateDir string
	// AcceptOlder is the time of a database that went back, as the refused start named it: the server starts on it without
	// a new epoch, and sends again what was sent since. Defaults to none.
	AcceptOlder time.Time
	// Place is the name of the place that this server stands at, of several with a copy of the database each: it sends while that place
	// holds the database, and is passive else. Defaults to none: there are no places.
	Place string
	// Places are the URLs of the servers of all places by name: callers of a passive one are told where to go, and two that both send
	// find each other. Defaults to none.
	Places map[string]string
	// AfterPromotion is PromotionWait or PromotionNewEpoch: what becomes of a start, and of a process that works, when a standby of
	// PostgreSQL was promoted that commits did not wait for. The latter holds what may have been sent and goes on; a process that
	// works ends for it, with an error on Failed. Defaults to PromotionWait: for a person.
	AfterPromotion string
	// Drivers are the channel drivers there are. Defaults to those of channel/builtin.
	Drivers []channel.Type
	// Rules are the rules that channels can be given. Defaults to rule.Types().
	Rules []rule.Type
	// AllowNetworks are private networks that channels may reach, such as 10.0.0.0/8. Defaults to
	// none: only public addresses are dialled.
	AllowNetworks []netip.Prefix
	// AllowPrivate lets channels reach any address. Defaults to false.
	AllowPrivate bool
	// TrustedProxies are the addresses of proxies whose X-Forwarded-For is believed: behind them callers are told
	// apart by their own addresses. Defaults to none.
	TrustedProxies []netip.Prefix
	// TLSCert and TLSKey are files in PEM by which TLS is served, at Addr and SMS.Addr; they are read again when they
	// change. Defaults to plain HTTP.
	TLSCert, TLSKey string
	// MaxConnections bounds the connections of callers. Where it is reached, an idle one is closed for a new one, or
	// else the new one. Defaults to half of the files that the process may open, at most 10000; negative is no bound.
	MaxConnections int
	// MaxConnectionsPerAddress bounds those of one address, of IPv6 of one /64. TrustedProxies and this machine have none.
	// Defaults to a quarter of MaxConnections; negative is no bound.
	MaxConnectionsPerAddress int
	// Redis is the address of a Redis that holds shared limits, redis://host:port/0, before the
	// database does. Defaults to none: the database alone holds them.
	Redis string
	// TimeZone is the IANA zone of days and rosters. Defaults to DefaultTimeZone.
	TimeZone string
	// PlatformURL is where recipients find the platform that the messages are about: what templates call
	// platformUrl, unless a payload has its own. Defaults to none.
	PlatformURL string
	// WorkflowResolver says who has which role in workflows. Defaults to WorkflowResolverURL, and without one to
	// the directory.
	WorkflowResolver Resolver
	// WorkflowResolverURL is asked over HTTP who has which role, with WorkflowResolverSecret in the header
	// X-Posthouse-Secret. Defaults to none.
	WorkflowResolverURL, WorkflowResolverSecret string
	// FrontHosts are host names at whose root a kind of fronts is served, as at its sender's original, and nothing else: kinds by host
	// name. Defaults to none: fronts are below /in/.
	FrontHosts map[string]string
	// SMTP takes mail for fronts. Defaults to nowhere.
	SMTP SMTP
	// SMS opens the front door for SMS senders and phones. Defaults to none.
	SMS SMS
	// Poll is how often the database is asked for work. Defaults to 250ms.
	Poll time.Duration
	// MinSenders and MaxSenders bound how many provider calls this process has under way; within them the number follows the
	// load. Default to 4 and 256 for each processor.
	MinSenders, MaxSenders int
	// Databases are those of other programs that the people of campaigns are read from: DSNs by TENANT/NAME. Defaults to none.
	Databases map[string]string
	// RepairEvery is how often segments of campaigns are looked for that their workers have left. Defaults to 30s.
	RepairEvery time.Duration
	// TenantLimits are the windows of all that a tenant sends, by its name; "*" is each that has none of its own. Defaults to none.
	TenantLimits map[string][]posthouse.Limit
	// Shapes are how fast what is of a priority may begin, by tenant; "*" is each that has none of its own. Defaults to none:
	// everything begins as soon as its channel lets it.
	Shapes posthouse.Shapes
	// RescueEvery is how often lost leases and deadlines are looked for. Defaults to 2s.
	RescueEvery time.Duration
	// LeaseMargin is what a lease lasts beyond its send's time-out, for the result to be recorded; after a
	// crash, what was under way waits for it. Defaults to 10s.
	LeaseMargin time.Duration
	// Drain is how long sends may finish at a stop, and a third of it how long requests may. Defaults to 15s.
	Drain time.Duration
	// Keep is how long settled deliveries are kept. Defaults to 90 days; negative keeps all.
	Keep time.Duration
	// EventsKeep is how long what happened to deliveries can be followed again: by a stream or a subscription that was away, or
	// by a replay. Defaults to 72 hours.
	EventsKeep time.Duration
	// KeepSent is how long those are kept that were sent or delivered. Defaults to Keep; negative keeps all.
	KeepSent time.Duration
	// AuditKeep is how long the audit log is kept. Defaults to 400 days; negative keeps all.
	AuditKeep time.Duration
	// Chain is how old messages are when a hash chain seals them, such as a minute; posthouse verify then finds every change that
	// was made behind the program's back. Defaults to none.
	Chain time.Duration
	// MaxMedia bounds a file that is to be sent, in bytes. Defaults to 20 MiB.
	MaxMedia int64
	// MaxTenantMedia bounds the files of one tenant, in bytes. Defaults to 1 GiB; negative bounds nothing.
	MaxTenantMedia int64
	// KeepMedia is how long a file is kept that is to be sent. Defaults to 30 days.
	KeepMedia time.Duration
	// MaxBody bounds a request's body in bytes. Defaults to 4 MiB.
	MaxBody int64
	// MaxBodies bounds the bytes of all bodies that are in memory at once; one caller has a quarter. Defaults to 16 times MaxBody.
	MaxBodies int64
	// AcceptOnly serves the API and sends nothing. Defaults to false.
	AcceptOnly bool
	// NoMigrate refuses to start on an older schema instead of bringing it up. Defaults to false.
	NoMigrate bool
	// OnEvents gets the events of deliveries that this process has committed, but for those that begin something
	// (accept, claim, start): what was sent, is tried again, failed, was cancelled, was decided. It is called by the
	// goroutine that wrote them, so it returns soon; two calls may come at once, and the event with the lower Version is
	// the earlier one of its delivery. Events of other processes and those before a crash are in the log of the
	// delivery only. Defaults to nothing.
	OnEvents func(events []posthouse.Event)
	// Log defaults to slog.Default().
	Log *slog.Logger
	// MetricsAddr is where the metrics are served, and nothing else: then Addr has none. MetricsOff serves them
	// nowhere. Defaults to /metrics at Addr, for those who show MetricsToken; without one for scrapes of this machine alone, and
	// with MetricsOpen for everybody.
	MetricsAddr string
	// CallbackRate is how many calls of providers a second one callback address takes; more are slowed down. Defaults to 10,000.
	CallbackRate int
	// MetricsToken is what a scrape shows as "Authorization: Bearer TOKEN". Defaults to none.
	MetricsToken string
	// Registry holds the metrics. Defaults to a new one.
	Registry *prometheus.Registry
	// Tracer defaults to none.
	Tracer trace.TracerProvider
	// Output is where console channels print. Defaults to standard output.
	Output io.Writer
	// Version is shown by /healthz. Defaults to "dev".
	Version string
	// Settings are those that the program was told, as it says them of itself. Defaults to none.
	Settings []wire.ServerSetting
	// Examine looks for what is unsafe or broken where somebody asks for it, and changes nothing. Defaults to none: nobody can ask.
	Examine func(ctx context.Context) []wire.Finding
}

// mostConnections is the default bound where files are many.
const mostConnections = 10_000

// maxStreams bounds the requests that stay open: half of the connections at most, so that the other half is for those that end.
func (o Options) maxStreams() int {
	const most = 500
	if o.MaxConnections <= 0 {
		return most
	}
	return min(most, max(o.MaxConnections/2, 1))
}

func (o Options) withDefaults() Options {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:8080"
	}
	if o.TimeZone == "" {
		o.TimeZone = DefaultTimeZone
	}
	o.ReadMaxLag = cmp.Or(o.ReadMaxLag, 30*time.Second)
	if o.Drain == 0 {
		o.Drain = 15 * time.Second
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = mostConnections
		if n := files(); n > 0 {
			o.MaxConnections = min(mostConnections, max(n/2, 1))
		}
	}
	if o.MaxConnectionsPerAddress == 0 && o.MaxConnections > 0 {
		o.MaxConnectionsPerAddress = max(o.MaxConnections/4, 1)
	}
	o.MaxSenders = cmp.Or(o.MaxSenders, max(admission.DefaultMaxSenders(), o.MinSenders))
	o.MinSenders = cmp.Or(o.MinSenders, min(admission.DefaultMinSenders, o.MaxSenders))
	if o.MaxBody == 0 {
		o.MaxBody = 4 << 20
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.Output == nil {
		o.Output = os.Stdout
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Drivers == nil {
		o.Drivers = builtin.Types()
	}
	if o.KeyringFile == "" {
		o.KeyringFile = "posthouse.keys"
		if path, ok := sqldb.SQLiteFile(o.DSN); ok {
			o.KeyringFile = filepath.Join(filepath.Dir(path), o.KeyringFile)
		}
	}
	o.StateDir = schema.MarkFolder(o.StateDir, o.DSN)
	if o.Announce == nil {
		out := o.Output
		o.Announce = func(key string) {
			fmt.Fprintf(out, "The first API key, shown once: %s\n", key)
		}
	}
	return o
}
