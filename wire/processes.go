package wire

import "time"

// Process is one that works on the database.
type Process struct {
	ID         string    `json:"id" doc:"What it is called in leases: host, number of the process, and a random part."`
	Host       string    `json:"host" doc:"The machine that it runs on."`
	Version    string    `json:"version" doc:"Its version."`
	Schema     int64     `json:"schema" doc:"The newest version of the database's schema that it knows."`
	Epoch      int64     `json:"epoch" doc:"The epoch of the database with which it began."`
	Stale      bool      `json:"stale,omitempty" doc:"The database has another epoch by now: it starts nothing more, and has to be restarted."`
	Key        string    `json:"key" doc:"The newest key of its keyring: what seals."`
	Keyring    string    `json:"keyring" doc:"The fingerprint of its keyring: the same for all processes, but while keys are changed."`
	AcceptOnly bool      `json:"accept_only,omitempty" doc:"It accepts, and sends nothing."`
	Untrusted  bool      `json:"untrusted_proxy,omitempty" doc:"Requests came to it by a proxy inside that trusted_proxies does not name: everybody behind it has one address."`
	StartedAt  time.Time `json:"started_at" doc:"When it began."`
	SeenAt     time.Time `json:"seen_at" doc:"When it last said that it is there: it does so every 15 seconds."`
	Gone       bool      `json:"gone,omitempty" doc:"It has said nothing for a minute, and has not said that it ends: it was killed, hangs, or does not reach the database."`
}
