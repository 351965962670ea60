package config

import (
	"log/slog"

	"github.com/posthouse/posthouse/server"
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
	// Warnings are settings that were given and mean nothing.
	Warnings []string
}

// serverSettings is the table of what the server can be told, in the order the help shows it.
var serverSettings = []setting[Config]{{
	name: "dsn", def: "sqlite:posthouse.db", secret: true,
	help:  "the `DATABASE`: sqlite:PATH, postgres://… or mysql://… (MariaDB too)",
	parse: func(c *Config, v string) error { return dsn(&c.Server.DSN, v) },
}, {
	name: "addr", def: "127.0.0.1:8080",
	help:  "where the HTTP API listens, `HOST:PORT`; port 0 takes a free one",
	parse: func(c *Config, v string) error { return hostPort(&c.Server.Addr, v) },
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
	help:  "the `FILE` that holds the keyring, made where there is none (default posthouse.keys beside the SQLite file)",
	parse: func(c *Config, v string) error { return text(&c.Server.KeyringFile, v) },
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
	name: "poll", def: "250ms",
	help:  "how often the database is asked for work, a `DURATION`",
	parse: func(c *Config, v string) error { return duration(&c.Server.Poll, v) },
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
	name: "max_body", def: "4MiB",
	help:  "the largest request body, a `SIZE` such as 512KiB",
	parse: func(c *Config, v string) error { return size(&c.Server.MaxBody, v) },
}, {
	name: "accept_only", toggle: true,
	help:  "serve the API and send nothing; other processes on the database do",
	parse: func(c *Config, v string) error { return boolean(&c.Server.AcceptOnly, v) },
}, {
	name: "no_migrate", toggle: true,
	help:  "refuse to start on an older schema instead of bringing it up",
	parse: func(c *Config, v string) error { return boolean(&c.Server.NoMigrate, v) },
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
	c := Config{Server: server.Options{DSN: "sqlite:posthouse.db", Addr: "127.0.0.1:8080"}}
	warnings, err := load(serverSettings, &c, from)
	c.Warnings = warnings
	return c, err
}
