// Package registry keeps what people set up: channels, users, keys, templates, rosters, agents and what else stands
// beside the messages. Each family of tables is a value of its own over the connection; it knows no delivery.
package registry

import "github.com/posthouse/posthouse/internal/store/sqldb"

// Registry is the families of what people set up.
type Registry struct {
	Channels      Channels
	Accounts      Accounts
	Gates         Gates
	Agents        Agents
	Keys          Keys
	Rosters       Rosters
	Users         Users
	Templates     Templates
	Routes        Routes
	Digests       Digests
	Limits        Limits
	Minutes       Minutes
	Tokens        Tokens
	Audit         Audit
	Marks         Marks
	Subscriptions Subscriptions
	Callbacks     Callbacks
	Fronts        Fronts
	Presets       Presets
	Media         Media
	People        People
	Suppressions  Suppressions
	Preferences   Preferences
	Processes     Processes
}

// Of is the registry in a database. open counts what waits in a channel or is on its way: the channel stays then.
func Of(db *sqldb.DB, open func(t *sqldb.Tx, tenant, channel string) (int64, error)) Registry {
	return Registry{
		Channels: Channels{db, open}, Accounts: Accounts{db}, Gates: Gates{db}, Agents: Agents{db}, Keys: Keys{db}, Rosters: Rosters{db}, Users: Users{db},
		Templates: Templates{db}, Routes: Routes{db}, Digests: Digests{db}, Limits: Limits{db}, Minutes: Minutes{db}, Tokens: Tokens{db}, Audit: Audit{db}, Marks: Marks{db}, Subscriptions: Subscriptions{db}, Callbacks: Callbacks{db}, Fronts: Fronts{db}, Presets: Presets{db}, Media: Media{db}, People: People{db}, Suppressions: Suppressions{db}, Preferences: Preferences{db}, Processes: Processes{db},
	}
}

// tagged is what says by a tag in which state it is.
type tagged interface{ Tag() string }

// tagOf is the tag of a thing, empty for one that is not there.
func tagOf(of tagged, found bool) string {
	if !found {
		return ""
	}
	return of.Tag()
}
