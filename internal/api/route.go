package api

import (
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/workflow"
)

// route is one line of the API: an address, who may use it, what goes in and what comes out. The
// OpenAPI document is made from the same line.
type route struct {
	method, path string
	// scope is what a key needs; empty for what needs no key.
	scope posthouse.Scope
	tag   string
	doc   string
	query []string
	// in is a value of the body's type, out of the answer's; nil for none.
	in, out any
	// status is the usual answer's. Defaults to 200.
	status int
	// also are other statuses that answer with out.
	also []int
	// csv allows text/csv in place of the JSON body.
	csv bool
	// own lets in the agent that the path names as well, with its own key.
	own   bool
	serve func(*api, *call) (answer, error)
	// plain serves in place of serve, for what is no JSON.
	plain func(*api) http.Handler
}

// What many addresses share.
var (
	paged      = []string{"cursor", "limit"}
	filterable = []string{"channel", "kind", "ref", "user", "state", "since", "until", "cursor", "limit"}
)

// table is every address there is.
func table() []route {
	const (
		get, post, put, remove = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
		read, send, admin      = posthouse.ScopeRead, posthouse.ScopeSend, posthouse.ScopeAdmin
		agent                  = posthouse.ScopeAgent
	)
	return []route{
		{method: post, path: "/v1/messages", scope: send, tag: "messages", doc: "Accept one message, or a list of up to 1000: all of them or none. 202 means committed and synced.", in: sendBody{}, out: posthouse.Accepted{}, status: 202, also: []int{200}, serve: (*api).sendMessages},
		{method: get, path: "/v1/messages", scope: read, tag: "messages", doc: "List messages, newest first.", query: filterable, out: page[messageView]{}, serve: (*api).messages},
		{method: get, path: "/v1/messages/{id}", scope: read, tag: "messages", doc: "A message with its deliveries.", query: paged, out: messageView{}, serve: (*api).message},
		{method: post, path: "/v1/messages/{id}/cancel", scope: send, tag: "messages", doc: "Cancel what has not started.", out: cancelled{}, serve: (*api).cancelMessage},
		{method: post, path: "/v1/messages/cancel", scope: send, tag: "messages", doc: "Cancel everything open of a kind and ref, and end its reminders.", in: refBody{}, out: cancelled{}, serve: (*api).cancelRef},

		{method: post, path: "/v1/reminders", scope: send, tag: "reminders", doc: "Send a message at several moments: in a countdown, or again and again.", in: reminderBody{}, out: reminderView{}, status: 202, also: []int{200}, serve: (*api).addReminder},
		{method: get, path: "/v1/reminders", scope: read, tag: "reminders", doc: "List reminders by id, or those of a kind and ref.", query: []string{"kind", "ref", "cursor", "limit"}, out: page[reminderView]{}, serve: (*api).reminders},
		{method: get, path: "/v1/reminders/{id}", scope: read, tag: "reminders", doc: "One reminder, with its next slots.", out: reminderView{}, serve: (*api).reminder},
		{method: post, path: "/v1/reminders/{id}/end", scope: send, tag: "reminders", doc: "End it, and cancel what has not started of its last message.", out: reminderView{}, serve: (*api).endReminder},
		{method: post, path: "/v1/reminders/end", scope: send, tag: "reminders", doc: "End all of a kind and ref.", in: refBody{}, out: page[reminderView]{}, serve: (*api).endReminders},

		{method: get, path: "/v1/deliveries", scope: read, tag: "deliveries", doc: "List deliveries, newest first.", query: filterable, out: page[posthouse.Delivery]{}, serve: (*api).deliveries},
		{method: get, path: "/v1/deliveries/{id}", scope: read, tag: "deliveries", doc: "One delivery: how it stands.", out: posthouse.Delivery{}, serve: (*api).delivery},
		{method: get, path: "/v1/deliveries/{id}/attempts", scope: read, tag: "deliveries", doc: "Every try to send it, with request and response.", out: page[posthouse.Attempt]{}, serve: (*api).attempts},
		{method: get, path: "/v1/deliveries/{id}/events", scope: read, tag: "deliveries", doc: "Every transition it made.", out: page[posthouse.Event]{}, serve: (*api).events},
		{method: get, path: "/v1/deliveries/{id}/explain", scope: read, tag: "deliveries", doc: "Why it waits, and until when.", out: engine.Explanation{}, serve: (*api).explain},
		{method: get, path: "/v1/deliveries/{id}/story", scope: read, tag: "deliveries", doc: "Its whole story: message, events, attempts, and what the logs say of it.", out: storyView{}, serve: (*api).story},
		{method: post, path: "/v1/deliveries/{id}/replay", scope: admin, tag: "deliveries", doc: "Send a failed, expired, quarantined or undelivered one again, as a new delivery.", in: replayBody{}, out: replayView{}, serve: (*api).replay},
		{method: post, path: "/v1/deliveries/replay", scope: admin, tag: "deliveries", doc: "Send again everything a filter selects.", in: replayAllBody{}, out: replaysView{}, serve: (*api).replayAll},
		{method: post, path: "/v1/deliveries/{id}/resolve", scope: admin, tag: "deliveries", doc: "A person's word on an unknown or quarantined delivery.", in: resolveBody{}, out: posthouse.Delivery{}, serve: (*api).resolve},

		{method: get, path: "/v1/outbox", scope: read, tag: "outbox", doc: "How the outbox stands, and its rejected rows without what they would send.", query: paged, out: outboxView{}, serve: (*api).outbox},
		{method: post, path: "/v1/outbox/{id}/retry", scope: admin, tag: "outbox", doc: "Try a rejected row at once.", status: 204, serve: (*api).retryRow},
		{method: remove, path: "/v1/outbox/{id}", scope: admin, tag: "outbox", doc: "Delete a rejected row: nothing is sent.", status: 204, serve: (*api).dropRow},

		{method: get, path: "/v1/channels", scope: read, tag: "channels", doc: "List channels, secrets masked.", out: page[posthouse.Channel]{}, serve: (*api).channels},
		{method: get, path: "/v1/channels/{name}", scope: read, tag: "channels", doc: "One channel, secrets masked.", out: posthouse.Channel{}, serve: (*api).channel},
		{method: put, path: "/v1/channels/{name}", scope: admin, tag: "channels", doc: "Create a channel or replace it. A masked secret stays as it was.", in: posthouse.Channel{}, out: posthouse.Channel{}, also: []int{201}, serve: (*api).putChannel},
		{method: remove, path: "/v1/channels/{name}", scope: admin, tag: "channels", doc: "Delete a channel that has nothing open.", status: 204, serve: (*api).deleteChannel},
		{method: post, path: "/v1/channels/{name}/pause", scope: admin, tag: "channels", doc: "Stop its sending.", in: pauseBody{}, out: posthouse.Channel{}, serve: (*api).pauseChannel},
		{method: post, path: "/v1/channels/{name}/resume", scope: admin, tag: "channels", doc: "Let it send again, refused accounts too.", out: posthouse.Channel{}, serve: (*api).resumeChannel},
		{method: post, path: "/v1/channels/{name}/test", scope: admin, tag: "channels", doc: "Check the provider, or send a test to one recipient.", in: testBody{}, out: testView{}, serve: (*api).testChannel},
		{method: get, path: "/v1/channels/{name}/tally", scope: read, tag: "channels", doc: "How many deliveries of a pulled channel wait, are handed out and are done.", out: tallyView{}, serve: (*api).tally},
		{method: get, path: "/v1/drivers", scope: read, tag: "channels", doc: "The drivers there are, with their settings.", out: page[driverView]{}, serve: (*api).listDrivers},

		{method: get, path: "/v1/agents", scope: read, tag: "agents", doc: "List the phones and programs that fetch deliveries, by id.", query: paged, out: page[posthouse.Agent]{}, serve: (*api).agents},
		{method: post, path: "/v1/agents", scope: admin, tag: "agents", doc: "Register an agent; the secret of its key is shown this once.", in: posthouse.Agent{}, out: newAgent{}, status: 201, serve: (*api).addAgent},
		{method: get, path: "/v1/agents/{id}", scope: read, own: true, tag: "agents", doc: "One agent, with how much it holds.", out: agentStatus{}, serve: (*api).agent},
		{method: put, path: "/v1/agents/{id}", scope: admin, tag: "agents", doc: "Change its name, channels, capabilities and limits.", in: posthouse.Agent{}, out: posthouse.Agent{}, serve: (*api).putAgent},
		{method: remove, path: "/v1/agents/{id}", scope: admin, tag: "agents", doc: "Take an agent away that holds nothing, and revoke its keys.", status: 204, serve: (*api).deleteAgent},
		{method: post, path: "/v1/agents/{id}/pause", scope: admin, tag: "agents", doc: "Hand it nothing for now. It may finish and report what it holds.", in: pauseBody{}, out: agentStatus{}, serve: (*api).pauseAgent},
		{method: post, path: "/v1/agents/{id}/drain", scope: admin, tag: "agents", doc: "Hand it nothing more: it finishes what it holds and can then be deleted.", in: pauseBody{}, out: agentStatus{}, serve: (*api).drainAgent},
		{method: post, path: "/v1/agents/{id}/resume", scope: admin, tag: "agents", doc: "Hand it deliveries again.", out: agentStatus{}, serve: (*api).resumeAgent},
		{method: post, path: "/v1/agents/{id}/reassign", scope: admin, tag: "agents", doc: "Take everything from an agent that does not come back: what it had not started goes to others.", in: pauseBody{}, out: reassigned{}, serve: (*api).reassignAgent},
		{method: post, path: "/v1/agents/{id}/key", scope: admin, tag: "agents", doc: "Make it another key; its secret is shown this once.", in: agentKeyBody{}, out: newKey{}, status: 201, serve: (*api).agentKey},
		{method: get, path: "/v1/agents/{id}/handouts", scope: read, own: true, tag: "agents", doc: "What it holds, without the contents.", out: page[heldView]{}, serve: (*api).handouts},
		{method: post, path: "/v1/agents/{id}/claims", scope: agent, tag: "agents", doc: "Be handed due deliveries under a lease, and wait for some.", in: claimBody{}, out: claimView{}, serve: (*api).claim},
		{method: post, path: "/v1/agents/{id}/start", scope: agent, tag: "agents", doc: "Say that hand-outs are being sent now. What is not ok must not be sent.", in: holdsBody{}, out: holdsView{}, serve: (*api).startHandouts},
		{method: post, path: "/v1/agents/{id}/renew", scope: agent, tag: "agents", doc: "Make leases last a whole time-out from now.", in: holdsBody{}, out: holdsView{}, serve: (*api).renewHandouts},
		{method: post, path: "/v1/agents/{id}/give-back", scope: agent, tag: "agents", doc: "Return hand-outs that were not started: others get them at once.", in: holdsBody{}, out: holdsView{}, serve: (*api).giveBack},
		{method: post, path: "/v1/agents/{id}/report", scope: agent, tag: "agents", doc: "Say what became of a hand-out, or of up to 500. A repeat is answered as before; of one alone that comes too late the answer is 409.", in: reportBody{}, out: reportsView{}, serve: (*api).report},
		{method: get, path: "/v1/logs", scope: read, tag: "agents", doc: "Lines of the log of requests (receive), of hand-outs (send) or of reports (report), newest first.", query: []string{"log", "delivery", "agent", "since", "until", "cursor", "limit"}, out: page[work.Line]{}, serve: (*api).logs},

		{method: get, path: "/v1/templates", scope: read, tag: "templates", doc: "List templates, the latest version of each.", out: page[posthouse.Template]{}, serve: (*api).templates},
		{method: get, path: "/v1/templates/{name}", scope: read, tag: "templates", doc: "A template, its latest version or a given one.", query: []string{"version"}, out: posthouse.Template{}, serve: (*api).template},
		{method: put, path: "/v1/templates/{name}", scope: admin, tag: "templates", doc: "Store a new version.", in: posthouse.Template{}, out: posthouse.Template{}, serve: (*api).putTemplate},
		{method: remove, path: "/v1/templates/{name}", scope: admin, tag: "templates", doc: "Delete a template, all versions.", status: 204, serve: (*api).deleteTemplate},
		{method: post, path: "/v1/templates/{name}/preview", scope: read, tag: "templates", doc: "What a payload makes of it.", in: previewBody{}, out: previewView{}, serve: (*api).previewTemplate},
		{method: post, path: "/v1/templates/{name}/test", scope: admin, tag: "templates", doc: "Fill it and send it to one recipient, really and at once. Nothing is queued.", in: templateTestBody{}, out: testView{}, serve: (*api).testTemplate},

		{method: get, path: "/v1/rosters", scope: read, tag: "rosters", doc: "List duty rosters.", out: page[posthouse.Roster]{}, serve: (*api).rosters},
		{method: get, path: "/v1/rosters/{name}", scope: read, tag: "rosters", doc: "A roster; with .csv behind the name, as CSV.", out: posthouse.Roster{}, serve: (*api).roster},
		{method: put, path: "/v1/rosters/{name}", scope: admin, tag: "rosters", doc: "Create a roster or replace it, from JSON or CSV.", in: posthouse.Roster{}, csv: true, out: posthouse.Roster{}, serve: (*api).putRoster},
		{method: remove, path: "/v1/rosters/{name}", scope: admin, tag: "rosters", doc: "Delete a roster.", status: 204, serve: (*api).deleteRoster},
		{method: get, path: "/v1/rosters/{name}/check", scope: read, tag: "rosters", doc: "Days without anybody, and people on several days.", out: rosterCheck{}, serve: (*api).checkRoster},
		{method: get, path: "/v1/rosters/{name}/today", scope: read, tag: "rosters", doc: "Who is on duty now.", out: duty{}, serve: (*api).onDuty},

		{method: get, path: "/v1/users", scope: read, tag: "users", doc: "List the directory.", query: paged, out: page[posthouse.User]{}, serve: (*api).users},
		{method: put, path: "/v1/users", scope: admin, tag: "users", doc: "Store users, from JSON or CSV (id,name,type,roles, then a column a channel; roles with ; between).", in: usersBody{}, csv: true, out: imported{}, serve: (*api).putUsers},
		{method: get, path: "/v1/users/{id}", scope: read, tag: "users", doc: "One user.", out: posthouse.User{}, serve: (*api).user},
		{method: remove, path: "/v1/users/{id}", scope: admin, tag: "users", doc: "Delete a user.", status: 204, serve: (*api).deleteUser},

		{method: post, path: "/v1/workflow/events", scope: send, tag: "workflow", doc: "Take in an event of a task, or a list of up to 1000: whoever is to be told of it is told. An event may come twice and in any order.", in: eventBody{}, out: workflow.Outcome{}, status: 202, serve: (*api).takeEvents},
		{method: get, path: "/v1/workflow/tasks", scope: read, tag: "workflow", doc: "List the tasks that events have named, by id.", query: paged, out: page[workflow.Summary]{}, serve: (*api).tasks},
		{method: get, path: "/v1/workflow/tasks/{id}", scope: read, tag: "workflow", doc: "What is known of a task, who was told what of it, and what could not be as it was meant.", out: taskReport{}, serve: (*api).task},

		{method: get, path: "/v1/keys", scope: admin, tag: "keys", doc: "List API keys; secrets are not kept.", out: page[posthouse.Key]{}, serve: (*api).keys},
		{method: post, path: "/v1/keys", scope: admin, tag: "keys", doc: "Make a key; its secret is shown this once.", in: keyBody{}, out: newKey{}, status: 201, serve: (*api).createKey},
		{method: remove, path: "/v1/keys/{id}", scope: admin, tag: "keys", doc: "Revoke a key.", status: 204, serve: (*api).revokeKey},

		{method: post, path: "/v1/notices", scope: send, tag: "notices", doc: "Accept a duty-gated notice for 天元 or 招呼.", in: noticeBody{}, out: noticeSent{}, status: 202, also: []int{200}, serve: (*api).sendNotice},
		{method: get, path: "/v1/notices", scope: read, tag: "notices", doc: "List notices, newest first.", query: []string{"status", "platform", "userId", "cursor", "limit"}, out: page[notice]{}, serve: (*api).notices},
		{method: get, path: "/v1/notices/{id}", scope: read, tag: "notices", doc: "One notice, in the words of its document.", out: notice{}, serve: (*api).notice},

		{method: get, path: "/v1/duty-schedule", scope: read, tag: "notices", doc: "The roster duty, in the words of its document.", out: page[scheduled]{}, serve: (*api).dutySchedule},

		{method: post, path: "/v1/notify/jobs", scope: send, tag: "jobs", doc: "Enqueue a job of the notification document: a message, or a reminder, by its numbers.", in: jobBody{}, out: jobMade{}, status: 202, also: []int{200}, serve: (*api).enqueueJob},
		{method: get, path: "/v1/notify/jobs", scope: read, tag: "jobs", doc: "The jobs of a business type and id, newest first, without deleted ones.", query: []string{"bizType", "bizId"}, out: page[workflow.JobView]{}, serve: (*api).jobs},
		{method: get, path: "/v1/notify/jobs/{id}", scope: read, tag: "jobs", doc: "One job with its recipients, in the words of its document.", out: workflow.JobView{}, serve: (*api).job},
		{method: post, path: "/v1/notify/jobs/status", scope: send, tag: "jobs", doc: "Cancel or abort the jobs of a business type and ids.", in: jobStatusBody{}, out: jobsChanged{}, serve: (*api).updateJobs},
		{method: post, path: "/v1/notify/jobs/delete", scope: send, tag: "jobs", doc: "Delete the jobs of a business type and ids, and free their dedup keys.", in: jobDeleteBody{}, out: jobsChanged{}, serve: (*api).deleteJobs},
		{method: post, path: "/v1/workflow/templates/defaults", scope: admin, tag: "workflow", doc: "Store the default templates of workflow notices where there are none.", out: workflow.Installed{}, serve: (*api).installTemplates},

		{method: get, path: "/healthz", tag: "operation", doc: "The process lives; names unsafe database settings.", out: health{}, serve: (*api).health},
		{method: get, path: "/readyz", tag: "operation", doc: "Whether it can do its work, part by part; 503 where not.", out: readiness{}, also: []int{503}, serve: (*api).ready},
		{method: get, path: "/metrics", tag: "operation", doc: "Metrics for Prometheus.", plain: func(a *api) http.Handler { return a.Metrics }},
		{method: get, path: "/openapi.json", tag: "operation", doc: "This document.", serve: (*api).specification},
		{method: get, path: "/docs", tag: "operation", doc: "This document as a page.", serve: (*api).docs},
		{method: get, path: "/docs/{file}", tag: "operation", doc: "What the page is made of.", serve: (*api).docs},
		{method: get, path: "/{$}", tag: "operation", doc: "Where to go from here.", serve: (*api).index},
	}
}
