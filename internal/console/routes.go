package console

import (
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
)

const (
	reads = posthouse.ScopeRead
	admin = posthouse.ScopeAdmin
)

// routes are the pages of a tenant, each with what a role must reach for it.
func routes() []route {
	looks := func(path, action string, serve func(*visit) error) route {
		return route{"GET", path, web.Use{Scope: reads, Action: action}, serve}
	}
	acts := func(path, action string, serve func(*visit) error) route {
		return route{"POST", path, web.Use{Scope: admin, Action: action}, serve}
	}
	sends := func(method, path, action string, serve func(*visit) error) route {
		return route{method, path, web.Use{Scope: posthouse.ScopeSend, Action: action}, serve}
	}
	return append(groupRoutes(), []route{
		looks("{$}", "overview.read", showOverview),
		{"GET", "start", web.Use{Scope: admin, Action: "channels.put"}, showGuide},
		acts("start", "channels.put", takeStep),
		looks("search", "deliveries.read", showSearch),
		{"POST", "search", web.Use{Scope: reads, Action: "deliveries.read"}, changeViews},
		looks("goto", "overview.read", showGoals),
		looks("counts", "overview.read", showCounts),
		looks("search.csv", "deliveries.read", saveFound),
		looks("messages/{id}", "messages.read", showMessage),
		looks("messages/{id}/proof", "proofs.read", showProof),
		looks("deliveries/{id}", "deliveries.read", showDelivery),
		acts("deliveries/{id}/reveal", "contents.reveal", revealContent),
		acts("deliveries/{id}/cancel", "messages.cancel", cancelDelivery),
		acts("deliveries/{id}/recall", "messages.recall", recallDelivery),
		acts("deliveries/{id}/replay", "deliveries.replay", replayDelivery),
		acts("deliveries/{id}/resolve", "deliveries.resolve", resolveDelivery),
		{"GET", "compose", composes(), showCompose},
		{"POST", "compose", composes(), sendLetter},
		looks("attention", "deliveries.read", showAttention),
		acts("attention", "deliveries.resolve", decideMany),
		looks("decisions", "decisions.read", showDecisions),
		looks("decisions/{id}", "decisions.read", showDecision),
		acts("decisions/{id}/stop", "decisions.stop", stopDecision),
		acts("decisions/{id}/undo", "decisions.undo", undoDecision),
		looks("channels", "channels.read", showChannels),
		looks("channels/{name}", "channels.read", showChannel),
		{"GET", "drivers", web.Use{Scope: admin, Action: "channels.put"}, showDrivers},
		{"GET", "drivers/{driver}", web.Use{Scope: admin, Action: "channels.put"}, onNewChannel((*visit).drawForm)},
		acts("drivers/{driver}", "channels.put", onNewChannel((*visit).storeForm)),
		{"GET", "channels/{name}/edit", web.Use{Scope: admin, Action: "channels.put"}, onChannel((*visit).drawForm)},
		acts("channels/{name}/edit", "channels.put", onChannel((*visit).storeForm)),
		acts("channels/{name}/test", "channels.test", testChannel),
		acts("channels/{name}/pause", "channels.pause", pauseChannel),
		acts("channels/{name}/resume", "channels.resume", resumeChannel),
		{"GET", "channels/{name}/new-account", web.Use{Scope: admin, Action: "accounts.put"}, onAccount((*visit).drawForm)},
		acts("channels/{name}/new-account", "accounts.put", onAccount((*visit).storeForm)),
		acts("channels/{name}/accounts", "accounts.put", importAccounts),
		looks("channels/{name}/accounts.csv", "accounts.read", saveAccounts),
		looks("channels/{name}/accounts/{account}", "accounts.read", showAccount),
		{"GET", "channels/{name}/accounts/{account}/edit", web.Use{Scope: admin, Action: "accounts.put"}, onAccount((*visit).drawForm)},
		acts("channels/{name}/accounts/{account}/edit", "accounts.put", onAccount((*visit).storeForm)),
		acts("channels/{name}/accounts/{account}/test", "accounts.test", testAccount),
		acts("channels/{name}/accounts/{account}/pause", "accounts.pause", pauseAccount),
		acts("channels/{name}/accounts/{account}/resume", "accounts.resume", resumeAccount),
		looks("campaigns", "campaigns.read", showCampaigns),
		sends("GET", "new-campaign", "campaigns.create", showNewCampaign),
		sends("POST", "new-campaign", "campaigns.create", makeCampaign),
		looks("campaigns/{name}", "campaigns.read", showCampaign),
		looks("campaigns/{name}/plan", "campaigns.read", showPlan),
		looks("campaigns/{name}/members", "campaigns.read", saveMembers),
		looks("campaigns/{name}/refused", "campaigns.read", saveRefused),
		sends("POST", "campaigns/{name}/members", "campaigns.members", takePeople),
		sends("POST", "campaigns/{name}/preview", "campaigns.preview", previewPeople),
		sends("POST", "campaigns/{name}/again", "campaigns.again", repeatCampaign),
		acts("campaigns/{name}/query", "campaigns.query", queryPeople),
		sends("POST", "campaigns/{name}/followers", "campaigns.followers", followPeople),
		sends("GET", "campaigns/{name}/content", "campaigns.change", showContent),
		sends("POST", "campaigns/{name}/content", "campaigns.change", keepContent),
		sends("GET", "campaigns/{name}/edit", "campaigns.change", showTerms),
		sends("POST", "campaigns/{name}/edit", "campaigns.change", changeTerms),
		sends("POST", "campaigns/{name}/copy", "campaigns.clone", copyCampaign),
		sends("POST", "campaigns/{name}/samples", "campaigns.samples", tryContent),
		sends("POST", "campaigns/{name}/test", "campaigns.test", testCampaign),
		acts("campaigns/{name}/start", "campaigns.start", campaignActs()["start"]),
		acts("campaigns/{name}/pause", "campaigns.pause", campaignActs()["pause"]),
		acts("campaigns/{name}/resume", "campaigns.resume", campaignActs()["resume"]),
		acts("campaigns/{name}/repair", "campaigns.repair", campaignActs()["repair"]),
		acts("campaigns/{name}/unschedule", "campaigns.unschedule", campaignActs()["unschedule"]),
		acts("campaigns/{name}/cancel", "campaigns.cancel", campaignActs()["cancel"]),
		looks("templates", "templates.read", showTemplates),
		{"GET", "new-template", web.Use{Scope: admin, Action: "templates.put"}, showNewTemplate},
		acts("new-template", "templates.put", makeTemplate),
		looks("templates/{name}", "templates.read", showTemplate),
		{"POST", "templates/{name}/preview", web.Use{Scope: reads, Action: "templates.preview"}, tryTemplate},
		acts("templates/{name}", "templates.put", storeTemplate),
		acts("templates/{name}/texts", "templates.put", storeText),
		acts("templates/{name}/settings", "templates.put", storeTemplateSettings),
		looks("phones", "agents.read", showPhones),
		{"POST", "phones", web.Use{Scope: admin, Action: "agents.create", Whole: true}, addPhone},
		looks("phones/{id}", "agents.read", showPhone),
		acts("phones/{id}", "agents.put", changePhone),
		{"POST", "phones/{id}/key", web.Use{Scope: admin, Action: "agents.key", Whole: true}, giveKey},
		acts("phones/{id}/pause", "agents.pause", phoneActs()["pause"]),
		acts("phones/{id}/drain", "agents.drain", phoneActs()["drain"]),
		acts("phones/{id}/resume", "agents.resume", phoneActs()["resume"]),
		acts("phones/{id}/reassign", "agents.reassign", phoneActs()["reassign"]),
		looks("directory", "users.read", showDirectory),
		acts("directory", "users.put", importDirectory),
		looks("tasks", "workflow.read", showTasks),
		looks("tasks/{id}", "workflow.read", showTask),
		looks("reminders", "reminders.read", showReminders),
		looks("reminders/{id}", "reminders.read", showReminder),
		{"GET", "new-schedule", schedules(), showTimetable},
		{"POST", "new-schedule", schedules(), storeTimetable},
		sends("POST", "reminders/{id}/pause", "reminders.pause", pauseReminder),
		sends("POST", "reminders/{id}/resume", "reminders.resume", resumeReminder),
		looks("system", "overview.read", showSystem),
		{"GET", "outbox", web.Use{Scope: admin, Action: "outbox.read"}, showOutbox},
		{"GET", "audit", web.Use{Scope: admin, Action: "audit.read"}, showAudit},
		looks("subscriptions", "subscriptions.read", showSubscriptions),
		acts("subscriptions", "subscriptions.create", addSubscription),
		looks("subscriptions/{id}", "subscriptions.read", showSubscription),
		acts("subscriptions/{id}/test", "subscriptions.test", testSubscription),
		acts("subscriptions/{id}/rotate", "subscriptions.rotate", onSubscription(rotateSubscription)),
		acts("subscriptions/{id}/replay", "subscriptions.replay", onSubscription(replaySubscription)),
		acts("subscriptions/{id}/pause", "subscriptions.pause", actOnSubscription("pause")),
		acts("subscriptions/{id}/resume", "subscriptions.resume", actOnSubscription("resume")),
		{"GET", "tenants", web.Use{Scope: admin, Action: "tenants.read", Whole: true}, showTenants},
		{"GET", "tenants/{name}", web.Use{Scope: admin, Action: "tenants.read", Whole: true}, onTenant((*visit).drawForm)},
		{"POST", "tenants/{name}", web.Use{Scope: admin, Action: "tenants.put", Whole: true}, onTenant((*visit).storeForm)},
		{"POST", "tenants/{name}/keys", web.Use{Scope: admin, Action: "tenants.keys", Whole: true}, addTenantKey},
		{"POST", "tenants/{name}/delete", web.Use{Scope: admin, Action: "tenants.delete", Whole: true}, deleteTenant},
		{"GET", "new-tenant", web.Use{Scope: admin, Action: "tenants.put", Whole: true}, onTenant((*visit).drawForm)},
		{"POST", "new-tenant", web.Use{Scope: admin, Action: "tenants.put", Whole: true}, onTenant((*visit).storeForm)},
		{"GET", "keys", web.Use{Scope: admin, Action: "keys.read", Whole: true}, showKeys},
		{"GET", "people", web.Use{Scope: admin, Action: "people.read", Whole: true}, showPeople},
		{"POST", "people", web.Use{Scope: admin, Action: "people.put", Whole: true}, addPerson},
		{"GET", "people/{name}", web.Use{Scope: admin, Action: "people.read", Whole: true}, showPerson},
		{"POST", "people/{name}/roles", web.Use{Scope: admin, Action: "people.put", Whole: true}, personActs()["roles"]},
		{"POST", "people/{name}/disable", web.Use{Scope: admin, Action: "people.put", Whole: true}, personActs()["disable"]},
		{"POST", "people/{name}/enable", web.Use{Scope: admin, Action: "people.put", Whole: true}, personActs()["enable"]},
		{"POST", "people/{name}/link", web.Use{Scope: admin, Action: "people.link", Whole: true}, personActs()["link"]},
		{"POST", "people/{name}/reset-totp", web.Use{Scope: admin, Action: "people.reset-totp", Whole: true}, personActs()["reset-totp"]},
		{"POST", "people/{name}/sign-out", web.Use{Scope: admin, Action: "people.sign-out", Whole: true}, personActs()["sign-out"]},
		{"POST", "keys", web.Use{Scope: admin, Action: "keys.create", Whole: true}, addKey},
		{"GET", "keys/{id}", web.Use{Scope: admin, Action: "keys.read", Whole: true}, showKey},
		{"POST", "keys/{id}/rotate", web.Use{Scope: admin, Action: "keys.rotate", Whole: true}, rotateKey},
	}...)
}

// entry is one of the menu.
type entry struct {
	Word, Path string
	use        web.Use
}

// group is a part of the menu: pages for one purpose.
type group struct {
	Word    string
	Entries []entry
}

// menu are the pages that the menu leads to: those of the table that show a list, by what one comes for.
func menu() []group {
	return []group{
		{"menu_watch", entries("overview", "attention", "search", "notifications", "channels", "tasks", "reminders", "outbox")},
		{"menu_send", entries("compose", "campaigns", "templates", "routes", "digests", "suppressions", "phones")},
		{"menu_duty", entries("rosters", "directory", "quiet")},
		{"menu_set", entries("presets", "fronts", "subscriptions", "tenants", "keys", "people", "audit", "system")},
	}
}

func entries(names ...string) []entry {
	var list []entry
	for _, name := range names {
		path := name
		if name == "overview" {
			path = "{$}"
		}
		for _, r := range routes() {
			if r.method == "GET" && r.path == path {
				list = append(list, entry{name, strings.TrimSuffix(path, "{$}"), r.use})
			}
		}
	}
	return list
}

// Pages are the paths of all that a browser may ask for below a tenant, such as channels/{name}.
func Pages() (paths []string) {
	for _, r := range routes() {
		if r.method == "GET" {
			paths = append(paths, r.path)
		}
	}
	return paths
}
