package people

import (
	"cmp"
	"slices"

	"github.com/posthouse/posthouse"
)

// KeyPrefix begins the id under which a person stands where keys stand: in the audit log. No key's id has a colon.
const KeyPrefix = "person:"

// decides are the actions of those who look after what is under way, beyond looking.
func decides() []string {
	return []string{
		"*.read", "deliveries.*", "decisions.*", "messages.cancel", "messages.recall", "reminders.end", "reminders.pause", "reminders.resume", "routes.ack", "routes.revoke-links", "routes.end", "routes.resume", "digests.leave", "channels.pause", "channels.resume", "channels.test",
		"accounts.pause", "accounts.resume", "accounts.test", "agents.pause", "agents.resume", "agents.drain", "agents.reassign",
		"rosters.override", "templates.preview", "routes.preview", "campaigns.unschedule", "campaigns.pause", "campaigns.resume", "campaigns.repair", "campaigns.resolve", "campaigns.cancel", "outbox.*", "subscriptions.pause", "subscriptions.resume",
	}
}

// hands are the actions of those who send, beyond deciding. A query of a database is none: it shows whatever the database's user may read.
func hands() []string {
	return []string{
		"messages.*", "campaigns.create", "campaigns.change", "campaigns.again", "campaigns.clone", "campaigns.delete", "campaigns.members", "campaigns.preview", "campaigns.samples", "campaigns.followers", "campaigns.start", "campaigns.test",
		"audiences.create", "audiences.delete", "audiences.members", "audiences.followers",
		"reminders.*", "media.*", "notices.*", "jobs.*", "workflow.events", "templates.preview", "routes.preview", "templates.test",
	}
}

// KeyOf is the key that a person's role is in a tenant: the API lets it do what the person may do. None without a role there.
func KeyOf(p posthouse.Person, tenant string) (posthouse.Key, bool) {
	key := posthouse.Key{ID: KeyPrefix + p.Name, Name: called(p), Tenant: tenant, Scope: posthouse.ScopeAdmin}
	switch p.Roles[tenant] {
	case posthouse.RoleViewer:
		key.Scope = posthouse.ScopeRead
	case posthouse.RoleOperator:
		key.Actions = decides()
	case posthouse.RoleSender:
		key.Actions = slices.Concat(decides(), hands())
	case posthouse.RoleAdmin:
	default:
		return posthouse.Key{}, false
	}
	return key, true
}

// called is how a person is called on pages and in the audit log.
func called(p posthouse.Person) string { return cmp.Or(p.Title, p.Name) }
