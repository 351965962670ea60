package config

import (
	"cmp"
	"log/slog"
	"net"

	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// Config is everything the server's process is told.
type Config struct {
	// Server is what goes to server.New. DSN and Addr are always filled in.
	Server server.Options
	// LogLevel is the least level that is logged. Defaults to info.
	LogLevel slog.Level
	// LogFormat is "json", "text" or empty: text on a terminal, else JSON.
	LogFormat string
	// OTLPEndpoint is the URL traces are sent to, empty for none.
	OTLPEndpoint string
	// AppHost and AppPort are the SMS front door's own address, as Server has it.
	AppHost, AppPort string
	// Create makes an SQLite file that is not there. Server.MustExist follows from it.
	Create bool
	// Warnings are settings that were given and mean nothing.
	Warnings []string
	// InForce are all settings as they hold, each with where it was given; secrets are masked.
	InForce []wire.ServerSetting
}

const defaultDSN = "sqlite:posthouse.db"

// serverSettings is the table of what the server can be told, in the order the help shows it.
var serverSettings = []setting[Config]{{
	name: "dsn", def: defaultDSN, secret: true, also: []string{"DATABASE_URL"},
	help:  "the `DATABASE`: sqlite:PATH, postgres://… or mysql://… (MariaDB too)",
	parse: func(c *Config, v string) error { return dsn(&c.Server.DSN, v) },
}, {
	name: "read_dsn", secret: true,
	help:  "a replica of that `DATABASE`, which answers lists, searches, exports and charts in its place: a hot standby of PostgreSQL or a replica of MariaDB (default none)",
	parse: func(c *Config, v string) error { return dsn(&c.Server.ReadDSN, v) },
}, {
	name: "read_max_lag", def: "30s",
	help:  "how far that replica may be behind, a `DURATION`; beyond it the database answers itself",
	parse: func(c *Config, v string) error { return duration(&c.Server.ReadMaxLag, v) },
}, {
	name: "create", toggle: true,
	help:  "make the SQLite file that dsn names, and its folder, where they are not there or empty; the default one is made in any case, but where a server has worked before",
	parse: func(c *Config, v string) error { return boolean(&c.Create, v) },
}, {
	name: "addr", def: "127.0.0.1:8080",
	help:  "where the HTTP API listens, `HOST:PORT`; port 0 takes a free one",
	parse: func(c *Config, v string) error { return hostPort(&c.Server.Addr, v) },
}, {
	name:  "trusted_proxies",
	help:  "proxies in front whose X-Forwarded-For is believed, a `LIST` of addresses and networks such as 10.0.0.5 (default none)",
	parse: func(c *Config, v string) error { return networks(&c.Server.TrustedProxies, v) },
}, {
	name:  "metrics_addr",
	help:  "where the metrics are served, and nothing else, `HOST:PORT`; off; or open for /metrics at addr for everybody (default /metrics at addr, with metrics_token or from this machine)",
	parse: func(c *Config, v string) error { return hostPortOrOff(&c.Server.MetricsAddr, v) },
}, {
	name: "metrics_token", secret: true, noFlag: true,
	help:  "the `TOKEN` that a scrape shows as \"Authorization: Bearer TOKEN\" (default none)",
	parse: func(c *Config, v string) error { return text(&c.Server.MetricsToken, v) },
}, {
	name:  "callback_rate",
	help:  "the most calls of providers a second at one callback address, a `NUMBER`; more are slowed down (default 10000)",
	parse: func(c *Config, v string) error { return count(&c.Server.CallbackRate, v) },
}, {
	name:  "tls_cert",
	help:  "serve TLS by this certificate, a `FILE` in PEM that is read again when it changes (default none: plain HTTP)",
	parse: func(c *Config, v string) error { return text(&c.Server.TLSCert, v) },
}, {
	name:  "tls_key",
	help:  "its key, a `FILE` in PEM",
	parse: func(c *Config, v string) error { return text(&c.Server.TLSKey, v) },
}, {
	name:  "front_hosts",
	help:  "host names at whose root a kind of fronts is served and nothing else, a `LIST` of HOST=KIND such as push.example.com=gotify with commas between (default none: fronts are below /in/)",
	parse: func(c *Config, v string) error { return frontHosts(&c.Server.FrontHosts, v) },
}, {
	name:  "smtp_listen",
	help:  "where mail is taken for fronts of the kind mail, `HOST:PORT` such as :2525 (default none)",
	parse: func(c *Config, v string) error { return hostPort(&c.Server.SMTP.Addr, v) },
}, {
	name:  "smtp_tls_cert",
	help:  "answer STARTTLS there by this certificate, a `FILE` in PEM (default tls_cert)",
	parse: func(c *Config, v string) error { return text(&c.Server.SMTP.TLSCert, v) },
}, {
	name:  "smtp_tls_key",
	help:  "its key, a `FILE` in PEM (default tls_key)",
	parse: func(c *Config, v string) error { return text(&c.Server.SMTP.TLSKey, v) },
}, {
	name: "smtp_allow_plain", toggle: true,
	help:  "take mail and the tokens of fronts from other machines without TLS",
	parse: func(c *Config, v string) error { return boolean(&c.Server.SMTP.AllowPlain, v) },
}, {
	name:  "max_connections",
	help:  "the most connections of callers, a `NUMBER`; an idle one makes room for a new one (default half of the files the process may open, at most 10000)",
	parse: func(c *Config, v string) error { return count(&c.Server.MaxConnections, v) },
}, {
	name:  "max_connections_per_address",
	help:  "the most of one address, a `NUMBER`; trusted_proxies and this machine have none (default a quarter of max_connections)",
	parse: func(c *Config, v string) error { return count(&c.Server.MaxConnectionsPerAddress, v) },
}, {
	name: "api_key", secret: true, noFlag: true,
	help:  "an API `KEY` of scope admin, ph_<id>_<secret>; without one the first start makes one and prints it once",
	parse: func(c *Config, v string) error { return text(&c.Server.AdminKey, v) },
}, {
	name: "keyring", secret: true, noFlag: true,
	help:  "the `KEYS` that encrypt the secrets of channels: id:base64, with commas between, newest last",
	parse: func(c *Config, v string) error { return text(&c.Server.Keyring, v) },
}, {
	name:  "keyring_file",
	help:  "the `FILE` that holds the keyring (default posthouse.keys beside the SQLite file, where the first start makes it)",
	parse: func(c *Config, v string) error { return text(&c.Server.KeyringFile, v) },
}, {
	name: "create_keyring", toggle: true,
	help:  "make the keyring's file for a PostgreSQL or MariaDB that has none yet; the other processes need a copy of it",
	parse: func(c *Config, v string) error { return boolean(&c.Server.CreateKeyring, v) },
}, {
	name: "adopt_keyring", toggle: true,
	help:  "start with another keyring than the database's, which is lost: each secret has to be typed in again",
	parse: func(c *Config, v string) error { return boolean(&c.Server.AdoptKeyring, v) },
}, {
	name:  "state_dir",
	help:  "the `FOLDER` where a process remembers how far the database had come, to notice one that went back (default that of the SQLite file, or the working directory)",
	parse: func(c *Config, v string) error { return text(&c.Server.StateDir, v) },
}, {
	name:  "accept_older",
	help:  "start on a database that went back to this `TIME`, as the refused start named it, without a new epoch: for when nothing was sent since",
	parse: func(c *Config, v string) error { return moment(&c.Server.AcceptOlder, v) },
}, {
	name:  "place",
	help:  "the `NAME` of the place that this server stands at, of several with a copy of the database each: it sends while that place holds the database, and is passive else (default none)",
	parse: func(c *Config, v string) error { return text(&c.Server.Place, v) },
}, {
	name:  "places",
	help:  "the servers of all places, a `LIST` of NAME=URL such as a=https://a.posthouse.example: callers of a passive place are told where to go (default none)",
	parse: func(c *Config, v string) error { return places(&c.Server.Places, v) },
}, {
	name: "after_promotion", def: server.PromotionWait,
	help: "the `WAY` after a standby of PostgreSQL was promoted that commits did not wait for: wait or new-epoch, which holds what may have been sent and goes on by itself",
	parse: func(c *Config, v string) error {
		return choice(&c.Server.AfterPromotion, v, server.PromotionWait, server.PromotionNewEpoch)
	},
}, {
	name:  "public_url",
	help:  "the `URL` at which browsers see the server, such as https://posthouse.example: where oidc_issuer sends them back to (default what each request says by its Host)",
	parse: func(c *Config, v string) error { return address(&c.Server.PublicURL, v, "http", "https") },
}, {
	name: "require_totp", toggle: true,
	help:  "let people use the console only once they have set up one-time codes (TOTP)",
	parse: func(c *Config, v string) error { return boolean(&c.Server.RequireTOTP, v) },
}, {
	name:  "oidc_issuer",
	help:  "the `URL` of an OpenID provider that people sign in to the console by (default none)",
	parse: func(c *Config, v string) error { return address(&c.Server.OIDC.Issuer, v, "http", "https") },
}, {
	name:  "oidc_client_id",
	help:  "what the provider calls Posthouse, an `ID`",
	parse: func(c *Config, v string) error { return text(&c.Server.OIDC.ClientID, v) },
}, {
	name: "oidc_client_secret", secret: true, noFlag: true,
	help:  "the `SECRET` that goes with it (default none: PKCE alone guards the code)",
	parse: func(c *Config, v string) error { return text(&c.Server.OIDC.ClientSecret, v) },
}, {
	name:  "oidc_scopes",
	help:  "what is asked for beside openid, `SCOPES` with commas between (default profile,email)",
	parse: func(c *Config, v string) error { return words(&c.Server.OIDC.Scopes, v) },
}, {
	name: "oidc_name_claim", def: "preferred_username",
	help:  "the `CLAIM` that becomes a person's name at the first sign-in",
	parse: func(c *Config, v string) error { return text(&c.Server.OIDC.NameClaim, v) },
}, {
	name: "oidc_role_claim", def: "groups",
	help:  "the `CLAIM` that oidc_roles speaks of, such as realm_access.roles",
	parse: func(c *Config, v string) error { return text(&c.Server.OIDC.RoleClaim, v) },
}, {
	name:  "oidc_roles",
	help:  "which of its values is which role, a `LIST` of VALUE=TENANT:ROLE such as ops=default:operator,boss=default:admin",
	parse: func(c *Config, v string) error { return words(&c.Server.OIDC.Roles, v) },
}, {
	name: "redis", secret: true,
	help:  "a Redis that holds shared limits, `URL` redis://host:port/0 (default none: the database holds them)",
	parse: func(c *Config, v string) error { return address(&c.Server.Redis, v, "redis", "rediss", "unix") },
}, {
	name:  "allow_networks",
	help:  "private networks that channels may reach, a `LIST` such as 10.0.0.0/8,192.168.7.1",
	parse: func(c *Config, v string) error { return networks(&c.Server.AllowNetworks, v) },
}, {
	name: "allow_private", toggle: true,
	help:  "let channels reach loopback and private addresses",
	parse: func(c *Config, v string) error { return boolean(&c.Server.AllowPrivate, v) },
}, {
	name: "time_zone", def: "Asia/Shanghai",
	help:  "the IANA `ZONE` of days and rosters",
	parse: func(c *Config, v string) error { return zone(&c.Server.TimeZone, v) },
}, {
	name:  "platform_url",
	help:  "the `URL` of the platform that messages are about: what templates call platformUrl (default none)",
	parse: func(c *Config, v string) error { return address(&c.Server.PlatformURL, v, "http", "https") },
}, {
	name:  "workflow_resolver_url",
	help:  "asked who has which role in workflows, a `URL` (default none: the directory says it)",
	parse: func(c *Config, v string) error { return address(&c.Server.WorkflowResolverURL, v, "http", "https") },
}, {
	name: "workflow_resolver_secret", secret: true, noFlag: true,
	help:  "the `SECRET` that the resolver is sent in the header X-Posthouse-Secret",
	parse: func(c *Config, v string) error { return text(&c.Server.WorkflowResolverSecret, v) },
}, {
	name: "basic_auth_username", also: []string{"BASIC_AUTH_USERNAME"},
	help:  "the user `NAME` that SMS senders and phones share; with the password it opens the SMS front door, /api/v1/sms/…",
	parse: func(c *Config, v string) error { return text(&c.Server.SMS.Username, v) },
}, {
	name: "basic_auth_password", also: []string{"BASIC_AUTH_PASSWORD"}, secret: true, noFlag: true,
	help:  "the `PASSWORD` that goes with it",
	parse: func(c *Config, v string) error { return text(&c.Server.SMS.Password, v) },
}, {
	name: "app_host", also: []string{"APP_HOST"},
	help:  "where the SMS front door is served besides, a `HOST`; every address where only the port is given (default none)",
	parse: func(c *Config, v string) error { return host(&c.AppHost, v) },
}, {
	name: "app_port", also: []string{"APP_PORT"},
	help:  "its `PORT`; 8000 where only the host is given (default none)",
	parse: func(c *Config, v string) error { return port(&c.AppPort, v) },
}, {
	name: "sms_channel", def: "sms",
	help:  "the `CHANNEL` whose deliveries are SMS tasks; made where there is none",
	parse: func(c *Config, v string) error { return text(&c.Server.SMS.Channel, v) },
}, {
	name: "sms_pending_format", def: "list",
	help:  "the `FORMAT` of tasks that phones fetch: list, or page for those that want {total_count, app_id, tasks}",
	parse: func(c *Config, v string) error { return choice(&c.Server.SMS.Format, v, "list", "page") },
}, {
	name:  "sms_page_agents",
	help:  "answer apps whose User-Agent begins with one of these in the form page, `TEXTS` with commas between (default none)",
	parse: func(c *Config, v string) error { return words(&c.Server.SMS.PageAgents, v) },
}, {
	name:  "sms_cors_origins",
	help:  "web pages that may call the SMS front door, `ORIGINS` with commas between, or * (default none)",
	parse: func(c *Config, v string) error { return words(&c.Server.SMS.Origins, v) },
}, {
	name: "sms_retry_delay", minutes: "RETRY_DELAY_MINUTES",
	help:  "the wait before a failed SMS task is tried again, a `DURATION` (default the channel's, 5m)",
	parse: func(c *Config, v string) error { return duration(&c.Server.SMS.RetryDelay, v) },
}, {
	name: "sms_max_retries", also: []string{"MAX_RETRY_COUNT"},
	help:  "how often it is tried again, a `NUMBER` (default the channel's, 3)",
	parse: func(c *Config, v string) error { return retries(&c.Server.SMS.MaxRetries, v) },
}, {
	name: "sms_timeout", minutes: "PROCESSING_TIMEOUT_MINUTES",
	help:  "how long a phone may hold an SMS task without a report, a `DURATION` (default the channel's, 30m)",
	parse: func(c *Config, v string) error { return duration(&c.Server.SMS.Timeout, v) },
}, {
	name:  "sms_fair_after",
	help:  "how long a retry that is due lets new SMS tasks go before it, a `DURATION` (default the channel's, 10m)",
	parse: func(c *Config, v string) error { return duration(&c.Server.SMS.FairAfter, v) },
}, {
	name:  "chain",
	help:  "seal what is this old in a hash chain, so that verify finds every change behind the program's back: a `DURATION` such as 1m (default: no chain)",
	parse: func(c *Config, v string) error { return duration(&c.Server.Chain, v) },
}, {
	name: "audit_keep", def: "400d",
	help:  "how long each line of the audit log is kept from when it is written, a `DURATION` or forever; a change is for new lines",
	parse: func(c *Config, v string) error { return keep(&c.Server.AuditKeep, v) },
}, {
	name: "sms_log_keep", def: "90d",
	help:  "how long the logs of requests, hand-outs and reports are kept, a `DURATION` or forever",
	parse: func(c *Config, v string) error { return keep(&c.Server.SMS.LogKeep, v) },
}, {
	name: "sms_sensitive", toggle: true,
	help:  "keep the text of every SMS task sealed, and hide it from all but the phone that sends it",
	parse: func(c *Config, v string) error { return boolean(&c.Server.SMS.Sensitive, v) },
}, {
	name: "poll", def: "250ms",
	help:  "how often the database is asked for work, a `DURATION`",
	parse: func(c *Config, v string) error { return duration(&c.Server.Poll, v) },
}, {
	name: "min_senders", def: "4",
	help:  "the least provider calls that this process is ready for, a `NUMBER`; how many it makes follows the load",
	parse: func(c *Config, v string) error { return count(&c.Server.MinSenders, v) },
}, {
	name:  "max_senders",
	help:  "the most provider calls at once in this process, a `NUMBER` (default 256 for each processor)",
	parse: func(c *Config, v string) error { return count(&c.Server.MaxSenders, v) },
}, {
	name: "databases", secret: true, noFlag: true,
	help:  "databases of yours that the people of campaigns are read from, a `LIST` of NAME=DSN such as crm=mysql://reader:…@db/crm with commas between; acme/crm=… is a tenant's own (default none)",
	parse: func(c *Config, v string) error { return databases(&c.Server.Databases, v) },
}, {
	name: "repair_every", def: "30s",
	help:  "how often segments of campaigns are looked for that their workers have left, a `DURATION`",
	parse: func(c *Config, v string) error { return duration(&c.Server.RepairEvery, v) },
}, {
	name:  "shape",
	help:  "how fast what is of a priority may begin, a `LIST` such as low=200/1s; low=200/1s:500 lets 500 begin at once, acme/low=50/1s is a tenant's own, unlimited is none (default none)",
	parse: func(c *Config, v string) error { return shapes(&c.Server.Shapes, v) },
}, {
	name:  "tenant_limit",
	help:  "how much each tenant sends at most, over all its channels, a `LIST` such as acme=100/1s,acme=5000/1h,*=20/1s; * is each that is not named, unlimited is none (default none)",
	parse: func(c *Config, v string) error { return tenantLimits(&c.Server.TenantLimits, v) },
}, {
	name: "rescue_every", def: "2s",
	help:  "how often lost leases and passed deadlines are looked for, a `DURATION`",
	parse: func(c *Config, v string) error { return duration(&c.Server.RescueEvery, v) },
}, {
	name: "lease_margin", def: "10s",
	help:  "what a lease lasts beyond its send's time-out, for the result to be recorded, a `DURATION`; after a crash, what was under way waits for it",
	parse: func(c *Config, v string) error { return duration(&c.Server.LeaseMargin, v) },
}, {
	name: "drain", def: "15s",
	help:  "how long sends may finish at a stop, a `DURATION`",
	parse: func(c *Config, v string) error { return duration(&c.Server.Drain, v) },
}, {
	name: "keep", def: "90d",
	help:  "how long settled deliveries are kept, a `DURATION` or forever",
	parse: func(c *Config, v string) error { return keep(&c.Server.Keep, v) },
}, {
	name:  "keep_sent",
	help:  "how long those are kept that were sent or delivered, a `DURATION` or forever; as keep where it is not given",
	parse: func(c *Config, v string) error { return keep(&c.Server.KeepSent, v) },
}, {
	name: "max_media", def: "20MiB",
	help:  "the largest file that is stored to be sent, a `SIZE`",
	parse: func(c *Config, v string) error { return size(&c.Server.MaxMedia, v) },
}, {
	name: "max_tenant_media", def: "1GiB",
	help:  "how much the files of one tenant may be together, a `SIZE`",
	parse: func(c *Config, v string) error { return size(&c.Server.MaxTenantMedia, v) },
}, {
	name: "keep_media", def: "30d",
	help:  "how long a file is kept that was stored to be sent, a `DURATION`",
	parse: func(c *Config, v string) error { return duration(&c.Server.KeepMedia, v) },
}, {
	name: "max_body", def: "4MiB",
	help:  "the largest request body, a `SIZE` such as 512KiB",
	parse: func(c *Config, v string) error { return size(&c.Server.MaxBody, v) },
}, {
	name:  "max_bodies",
	help:  "the bytes of all request bodies in memory at once, a `SIZE`; one caller has a quarter (default 16 times max_body)",
	parse: func(c *Config, v string) error { return size(&c.Server.MaxBodies, v) },
}, {
	name: "accept_only", toggle: true,
	help:  "serve the API and send nothing; other processes on the database do",
	parse: func(c *Config, v string) error { return boolean(&c.Server.AcceptOnly, v) },
}, {
	name: "no_migrate", toggle: true,
	help:  "refuse to start on an older schema instead of bringing it up",
	parse: func(c *Config, v string) error { return boolean(&c.Server.NoMigrate, v) },
}, {
	name: "debug", toggle: true, also: []string{"DEBUG"},
	help:  "log everything, as log_level debug does, which counts before it",
	parse: func(c *Config, v string) error { return debug(&c.LogLevel, v) },
}, {
	name: "log_level", def: "info",
	help:  "the least `LEVEL` that is logged: debug, info, warn or error",
	parse: func(c *Config, v string) error { return level(&c.LogLevel, v) },
}, {
	name:  "log_format",
	help:  "the `FORMAT` of the log: json or text (default text on a terminal, else json)",
	parse: func(c *Config, v string) error { return choice(&c.LogFormat, v, "json", "text") },
}, {
	name:  "otlp_endpoint",
	help:  "where traces are sent, the `URL` of an OTLP/HTTP collector (default none)",
	parse: func(c *Config, v string) error { return address(&c.OTLPEndpoint, v, "http", "https") },
}}

// Load reads the server's settings. Its error is a posthouse.CodeInvalid one with a problem
// for each value that is wrong.
func Load(from Sources) (Config, error) {
	c := Config{Server: server.Options{DSN: defaultDSN, Addr: "127.0.0.1:8080"}}
	var err error
	c.Warnings, c.InForce, err = load(serverSettings, &c, from)
	c.Server.MustExist = !c.Create && (c.Server.DSN != defaultDSN || workedBefore(&c.Server))
	if c.AppHost != "" || c.AppPort != "" {
		c.Server.SMS.Addr = net.JoinHostPort(cmp.Or(c.AppHost, "0.0.0.0"), cmp.Or(c.AppPort, "8000"))
	}
	return c, err
}

// workedBefore reports whether a server has worked with this folder, on a file that was moved away since or on another database: one
// that is missing is made for whoever asks for it, as one is that a DSN with a slip in it names.
func workedBefore(o *server.Options) bool {
	return len(schema.Marks(schema.MarkFolder(o.StateDir, o.DSN))) > 0
}
