package console

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console/removal"
	"github.com/posthouse/posthouse/internal/console/words"
	"github.com/posthouse/posthouse/internal/people"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/wire"
)

// least is the role that each page and decision needs. A route that is missing here fails the test: decide who may use it.
var least = map[string]posthouse.Role{
	"GET {$}": posthouse.RoleViewer, "GET search": posthouse.RoleViewer, "GET goto": posthouse.RoleViewer, "GET search.csv": posthouse.RoleViewer, "GET messages/{id}": posthouse.RoleViewer, "GET messages/{id}/proof": posthouse.RoleViewer, "GET deliveries/{id}": posthouse.RoleViewer,
	"POST search":   posthouse.RoleViewer,
	"GET attention": posthouse.RoleViewer, "GET channels": posthouse.RoleViewer, "GET channels/{name}": posthouse.RoleViewer,
	"GET campaigns": posthouse.RoleViewer, "GET campaigns/{name}": posthouse.RoleViewer, "GET templates": posthouse.RoleViewer, "GET decisions": posthouse.RoleViewer, "GET decisions/{id}": posthouse.RoleViewer, "POST decisions/{id}/stop": posthouse.RoleOperator, "POST decisions/{id}/undo": posthouse.RoleOperator,
	"GET tasks": posthouse.RoleViewer, "GET tasks/{id}": posthouse.RoleViewer, "GET reminders": posthouse.RoleViewer, "GET reminders/{id}": posthouse.RoleViewer, "POST reminders/{name}/end": posthouse.RoleOperator, "POST reminders/{id}/pause": posthouse.RoleOperator, "POST reminders/{id}/resume": posthouse.RoleOperator, "GET new-schedule": posthouse.RoleSender, "POST new-schedule": posthouse.RoleSender, "GET system": posthouse.RoleViewer,
	"POST deliveries/{id}/cancel": posthouse.RoleOperator, "POST deliveries/{id}/recall": posthouse.RoleOperator, "POST deliveries/{id}/replay": posthouse.RoleOperator, "POST deliveries/{id}/resolve": posthouse.RoleOperator,
	"POST attention": posthouse.RoleOperator, "POST channels/{name}/pause": posthouse.RoleOperator, "POST channels/{name}/resume": posthouse.RoleOperator,
	"POST campaigns/{name}/pause": posthouse.RoleOperator, "POST campaigns/{name}/resume": posthouse.RoleOperator, "POST campaigns/{name}/repair": posthouse.RoleOperator, "POST campaigns/{name}/cancel": posthouse.RoleOperator, "POST campaigns/{name}/unschedule": posthouse.RoleOperator,
	"GET notifications": posthouse.RoleViewer, "GET notifications/{id}": posthouse.RoleViewer, "POST notifications/{id}/ack": posthouse.RoleOperator, "POST notifications/{id}/revoke-links": posthouse.RoleOperator, "POST notifications/{id}/end": posthouse.RoleOperator, "POST notifications/{id}/resume": posthouse.RoleOperator,
	"GET digests": posthouse.RoleViewer, "POST digests": posthouse.RoleAdmin, "GET digests/{name}": posthouse.RoleViewer, "POST digests/{name}": posthouse.RoleAdmin, "POST digests/{name}/delete": posthouse.RoleAdmin, "GET collections/{id}": posthouse.RoleViewer, "POST collections/{id}/leave": posthouse.RoleOperator,
	"GET routes": posthouse.RoleViewer, "GET routes/{name}": posthouse.RoleViewer, "POST routes": posthouse.RoleAdmin, "POST routes/{name}": posthouse.RoleAdmin, "POST routes/{name}/delete": posthouse.RoleAdmin, "GET routes/{name}/preview": posthouse.RoleViewer, "POST routes/{name}/preview": posthouse.RoleViewer,
	"GET outbox": posthouse.RoleOperator, "GET audit": posthouse.RoleOperator,
	"GET templates/{name}": posthouse.RoleViewer, "GET new-template": posthouse.RoleAdmin, "POST new-template": posthouse.RoleAdmin, "POST templates/{name}/preview": posthouse.RoleViewer, "POST templates/{name}": posthouse.RoleAdmin,
	"GET campaigns/{name}/plan": posthouse.RoleViewer, "GET campaigns/{name}/members": posthouse.RoleViewer, "GET campaigns/{name}/refused": posthouse.RoleViewer,
	"GET new-campaign": posthouse.RoleSender, "POST new-campaign": posthouse.RoleSender, "POST campaigns/{name}/members": posthouse.RoleSender, "POST campaigns/{name}/test": posthouse.RoleSender,
	"POST campaigns/{name}/start": posthouse.RoleSender, "GET campaigns/{name}/edit": posthouse.RoleSender, "POST campaigns/{name}/edit": posthouse.RoleSender, "POST campaigns/{name}/copy": posthouse.RoleSender, "GET campaigns/{name}/content": posthouse.RoleSender, "POST campaigns/{name}/content": posthouse.RoleSender, "POST campaigns/{name}/samples": posthouse.RoleSender, "POST campaigns/{name}/query": posthouse.RoleAdmin, "POST campaigns/{name}/followers": posthouse.RoleSender,
	"POST channels/{name}/test": posthouse.RoleOperator,
	"GET drivers":               posthouse.RoleAdmin, "GET drivers/{driver}": posthouse.RoleAdmin, "POST drivers/{driver}": posthouse.RoleAdmin,
	"GET channels/{name}/edit": posthouse.RoleAdmin, "POST channels/{name}/edit": posthouse.RoleAdmin,
	"GET channels/{name}/new-account": posthouse.RoleAdmin, "POST channels/{name}/new-account": posthouse.RoleAdmin, "POST channels/{name}/accounts": posthouse.RoleAdmin,
	"GET channels/{name}/accounts.csv": posthouse.RoleViewer, "GET channels/{name}/accounts/{account}": posthouse.RoleViewer,
	"GET channels/{name}/accounts/{account}/edit": posthouse.RoleAdmin, "POST channels/{name}/accounts/{account}/edit": posthouse.RoleAdmin, "POST channels/{name}/accounts/{account}/delete": posthouse.RoleAdmin,
	"POST channels/{name}/accounts/{account}/test": posthouse.RoleOperator, "POST channels/{name}/accounts/{account}/pause": posthouse.RoleOperator, "POST channels/{name}/accounts/{account}/resume": posthouse.RoleOperator,
	"GET presets": posthouse.RoleViewer, "GET presets/{name}": posthouse.RoleViewer, "POST presets/{name}": posthouse.RoleAdmin,
	"GET fronts": posthouse.RoleViewer, "GET fronts/{name}": posthouse.RoleViewer, "POST fronts": posthouse.RoleAdmin, "POST fronts/{name}": posthouse.RoleAdmin,
	"POST fronts/{name}/token": posthouse.RoleAdmin, "POST fronts/{name}/delete": posthouse.RoleAdmin, "POST fronts/{name}/calls/{id}/reveal": posthouse.RoleAdmin,
	"GET quiet": posthouse.RoleAdmin, "POST quiet": posthouse.RoleAdmin, "GET channels/{name}/quiet": posthouse.RoleViewer, "POST channels/{name}/quiet": posthouse.RoleAdmin,
	"GET rosters": posthouse.RoleViewer, "GET rosters/{name}": posthouse.RoleViewer, "GET rosters/{name}/file": posthouse.RoleViewer,
	"POST deliveries/{id}/reveal":  posthouse.RoleAdmin,
	"POST rosters/{name}/override": posthouse.RoleOperator,
	"POST rosters":                 posthouse.RoleAdmin, "POST rosters/{name}": posthouse.RoleAdmin,
	"GET phones": posthouse.RoleViewer, "POST phones": posthouse.RoleAdmin, "POST phones/{id}": posthouse.RoleAdmin, "POST phones/{id}/key": posthouse.RoleAdmin, "GET phones/{id}": posthouse.RoleViewer,
	"POST phones/{id}/pause": posthouse.RoleOperator, "POST phones/{id}/drain": posthouse.RoleOperator, "POST phones/{id}/resume": posthouse.RoleOperator, "POST phones/{id}/reassign": posthouse.RoleOperator,
	"GET directory": posthouse.RoleViewer, "POST directory": posthouse.RoleAdmin, "GET directory/{id}": posthouse.RoleViewer, "POST directory/{id}": posthouse.RoleAdmin, "POST directory/{id}/preferences": posthouse.RoleAdmin,
	"GET suppressions": posthouse.RoleViewer, "GET suppressions.csv": posthouse.RoleViewer, "GET suppressions/{name}": posthouse.RoleViewer, "POST suppressions": posthouse.RoleAdmin, "POST suppressions/import": posthouse.RoleAdmin, "POST suppressions/remove": posthouse.RoleAdmin,
	"GET counts": posthouse.RoleViewer,
	"GET start":  posthouse.RoleAdmin, "POST start": posthouse.RoleAdmin,
	"GET compose": posthouse.RoleSender, "POST compose": posthouse.RoleSender,
	"POST channels/{name}/delete": posthouse.RoleAdmin, "POST templates/{name}/delete": posthouse.RoleAdmin, "POST phones/{name}/delete": posthouse.RoleAdmin, "POST rosters/{name}/delete": posthouse.RoleAdmin, "POST directory/{name}/delete": posthouse.RoleAdmin, "POST campaigns/{name}/delete": posthouse.RoleSender,
	"POST templates/{name}/texts": posthouse.RoleAdmin, "POST templates/{name}/settings": posthouse.RoleAdmin,
	"POST campaigns/{name}/preview": posthouse.RoleSender, "POST campaigns/{name}/again": posthouse.RoleSender, "POST people": posthouse.RoleAdmin, "POST people/{name}/link": posthouse.RoleAdmin, "GET people/{name}": posthouse.RoleAdmin, "POST people/{name}/roles": posthouse.RoleAdmin, "POST people/{name}/disable": posthouse.RoleAdmin, "POST people/{name}/enable": posthouse.RoleAdmin, "POST people/{name}/reset-totp": posthouse.RoleAdmin, "POST people/{name}/sign-out": posthouse.RoleAdmin, "GET keys/{id}": posthouse.RoleAdmin, "POST keys/{id}/rotate": posthouse.RoleAdmin, "POST keys/{name}/revoke": posthouse.RoleAdmin, "POST keys": posthouse.RoleAdmin,
	"GET subscriptions": posthouse.RoleViewer, "POST subscriptions": posthouse.RoleAdmin, "GET subscriptions/{id}": posthouse.RoleViewer, "POST subscriptions/{id}/test": posthouse.RoleAdmin, "POST subscriptions/{id}/rotate": posthouse.RoleAdmin, "POST subscriptions/{id}/replay": posthouse.RoleAdmin,
	"POST subscriptions/{id}/pause": posthouse.RoleOperator, "POST subscriptions/{id}/resume": posthouse.RoleOperator, "POST subscriptions/{name}/delete": posthouse.RoleAdmin,
	"GET tenants": posthouse.RoleAdmin, "GET tenants/{name}": posthouse.RoleAdmin, "POST tenants/{name}": posthouse.RoleAdmin, "POST tenants/{name}/keys": posthouse.RoleAdmin, "POST tenants/{name}/delete": posthouse.RoleAdmin, "GET new-tenant": posthouse.RoleAdmin, "POST new-tenant": posthouse.RoleAdmin,
	"GET settings": posthouse.RoleAdmin, "GET doctor": posthouse.RoleAdmin, "POST doctor": posthouse.RoleAdmin,
	"GET keys": posthouse.RoleAdmin, "GET people": posthouse.RoleAdmin,
}

func TestEachRouteNeedsItsRole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range routes() {
		name := r.method + " " + r.path
		want, known := least[name]
		if !known {
			t.Errorf("%s has no role in the table", name)
			continue
		}
		seen[name] = true
		for i, role := range posthouse.Roles() {
			key, _ := people.KeyOf(posthouse.Person{Name: "p", Roles: map[string]posthouse.Role{"t": role}}, "t")
			if got := web.Permit(key, r.use) == nil; got != (i >= slices.Index(posthouse.Roles(), want)) {
				t.Errorf("%s as %s: got %v, want it from %s on", name, role, got, want)
			}
		}
	}
	for name := range least {
		if !seen[name] {
			t.Errorf("there is no route %s", name)
		}
	}
}

// Every word of the pages is there in both languages.
func TestEveryWordIsThere(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for page, text := range templatesOf(t) {
		for _, part := range strings.Split(text, `.T "`)[1:] {
			name, _, _ := strings.Cut(part, `"`)
			names[name] = true
		}
		for _, bad := range []string{"<style", " style=", "javascript:", " onclick", " onload", "<script>", "hx-on", "hx-vals=\"js"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q, which the policy of pages forbids", page, bad)
			}
		}
	}
	if len(names) < 100 {
		t.Fatalf("only %d words were found", len(names))
	}
	for _, s := range posthouse.States() {
		names[string(s)] = true
	}
	for _, s := range posthouse.CampaignStates() {
		names["campaign_"+string(s)] = true
		for _, a := range actions(s) {
			names["campaign_do_"+a], names["campaign_help_"+a] = true, true
		}
	}
	for _, s := range posthouse.ChannelStates() {
		names["channel_"+string(s)] = true
	}
	for _, table := range append(words.Tables(), groupWords()) {
		for word := range table {
			names[word] = true
		}
	}
	for _, s := range []posthouse.AgentState{posthouse.AgentActive, posthouse.AgentPaused, posthouse.AgentDraining} {
		names["phone_"+string(s)] = true
		for _, a := range phoneActions(s) {
			names["phone_do_"+a], names["phone_help_"+a] = true, true
		}
	}
	for _, a := range []string{"pause", "resume"} {
		names["sub_do_"+a], names["sub_help_"+a] = true, true
	}
	for _, r := range posthouse.RateReasons() {
		names["rate_"+string(r)] = true
	}
	for _, r := range posthouse.Roles() {
		names[string(r)], names["role_"+string(r)] = true, true
	}
	for _, s := range []posthouse.Scope{posthouse.ScopeRead, posthouse.ScopeSend, posthouse.ScopeAdmin, posthouse.ScopeAgent} {
		names["scope_"+string(s)], names["scope_short_"+string(s)] = true, true
	}
	for _, g := range posthouse.Grants() {
		names["grant_"+string(g)] = true
	}
	for _, s := range []string{"unknown", "running", "finished", "aborted", "cancelled"} {
		names["task_"+s] = true
	}
	for _, s := range []posthouse.ReminderState{posthouse.ReminderOpen, posthouse.ReminderEnded} {
		names["reminder_"+string(s)] = true
		names["reminder_paused"] = true
	}
	for _, s := range wire.DecisionStates() {
		names["decision_"+string(s)] = true
	}
	for _, o := range append(wire.Outcomes(), wire.OutcomeReplay) {
		names["outcome_"+string(o)], names["undo_"+string(o)], names[decision{wire.Decision{Outcome: o}}.After().Word] = true, true, true
	}
	names["outcome_undo"], names["decision_undo_retry"], names["decision_undo_replay"], names["after_undo"] = true, true, true, true
	for _, s := range saids() {
		names[s] = true
	}
	for _, g := range menu() {
		names[g.Word] = true
		for _, e := range g.Entries {
			names[e.Word] = true
		}
	}
	delete(names, "channel_") // a channel without a state has no word
	for name := range names {
		zh, en := say(name, true), say(name, false)
		if zh == name || en == "" || zh == "" || zh == en && name != "console" {
			t.Errorf("the word %q is %q and %q", name, zh, en)
		}
	}
	for _, e := range []posthouse.EventType{posthouse.EventAccept, posthouse.EventAdmit, posthouse.EventMove, posthouse.EventReceipt} {
		if eventWords()[e].In(true) == "" {
			t.Errorf("the event %s has no word", e)
		}
	}
	for _, c := range posthouse.Classes() {
		if classWords()[c].In(true) == "" || classWords()[c].In(false) == "" {
			t.Errorf("the class %s has no word", c)
		}
	}
}

// Each form of a tenant's pages says where it stands, so that a session that is over leads back there, and which click it is.
func TestEachFormSaysWhereItStands(t *testing.T) {
	t.Parallel()
	texts := templatesOf(t)
	parts := map[string]string{}
	for _, text := range texts {
		for _, part := range strings.Split(text, `{{define "`)[1:] {
			name, rest, _ := strings.Cut(part, `"`)
			parts[name] += rest
		}
	}
	forms := 0
	for page, text := range texts {
		for _, part := range strings.Split(text, `<form method="post"`)[1:] {
			form, _, _ := strings.Cut(part, "</form>")
			if strings.HasPrefix(form, ` action="{{.Root}}`) {
				continue // outside of tenants
			}
			forms++
			whole := form
			for _, call := range strings.Split(form, `{{template "`)[1:] {
				name, _, _ := strings.Cut(call, `"`)
				whole += parts[name]
			}
			for _, field := range []string{"here", "click"} {
				if !strings.Contains(whole, `name="`+field+`" value="`) && !strings.Contains(whole, field+"={{") {
					t.Errorf("%s: a form does not say %q: %.80s", page, field, form)
				}
			}
		}
	}
	if forms < 30 {
		t.Errorf("only %d forms were found", forms)
	}
}

// templatesOf are the texts of all templates, by where they are.
func templatesOf(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	read := func(of string, from fs.FS) {
		for _, pattern := range []string{"pages/*.html", "pages/parts/*.html"} {
			list, err := fs.Glob(from, pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range list {
				text, err := fs.ReadFile(from, name)
				if err != nil {
					t.Fatal(err)
				}
				out[of+name] = string(text)
			}
		}
	}
	read("", files)
	for _, g := range groups() {
		read(g.Routes[0].Path+"/", g.Files)
	}
	return out
}

// No page, part or word of a group stands in the place of another's, and no two routes are the same.
func TestGroupsShareNoNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	take := func(kind, name string) {
		if seen[kind+name] {
			t.Errorf("there are two of the %s %q", kind, name)
		}
		seen[kind+name] = true
	}
	for _, table := range words.Tables() {
		for name := range table {
			take("word", name)
		}
	}
	for _, g := range groups() {
		for name := range g.Words {
			take("word", name)
		}
	}
	for at, text := range templatesOf(t) {
		take(path.Base(path.Dir(at)), path.Base(at)) // of pages, and of parts
		for _, part := range strings.Split(text, `{{define "`)[1:] {
			if name, _, _ := strings.Cut(part, `"`); name != "main" && name != "head" {
				take("part", name)
			}
		}
	}
	if len(seen) < 500 {
		t.Errorf("only %d names were found", len(seen))
	}
}

// What is embedded, and what a first view loads.
func TestTheConsoleStaysSmall(t *testing.T) {
	t.Parallel()
	all, err := readAssets()
	if err != nil {
		t.Fatal(err)
	}
	embedded, first := 0, 0
	for name, a := range all {
		embedded += len(a.plain)
		if !strings.Contains(name, "LICENSE") {
			first += len(a.packed)
		}
	}
	for _, text := range templatesOf(t) {
		embedded += len(text)
	}
	if embedded > 1_500_000 || embedded < 100_000 {
		t.Errorf("%d bytes are embedded", embedded)
	}
	if first > 100_000 || first < 10_000 { // beside them a page of at most 50 kB
		t.Errorf("a first view loads %d bytes", first)
	}
	for _, want := range []string{"pico-LICENSE.md", "htmx-LICENSE.txt"} {
		if len(all[want].plain) == 0 {
			t.Errorf("the licence %s is missing", want)
		}
	}
}

// Each page says what was just done: the words that forms lead on with are those that pages take.
func TestWhatWasDoneIsSaid(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, glob := range []string{"*.go", "*/*.go"} {
		names, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range regexp.MustCompile(`said=([a-z_]+)`).FindAllStringSubmatch(string(text), -1) {
				if found[at[1]] = true; !slices.Contains(saids(), at[1]) {
					t.Errorf("%s leads on with %q, which no page says", name, at[1])
				}
			}
		}
	}
	if len(found) < 20 {
		t.Errorf("only %d words were found", len(found))
	}
}

// What is deleted, revoked or ended for good goes one way: with its name typed, or a tick where it has none. A tenant's form asks for more besides.
func TestWhatIsDeletedIsTyped(t *testing.T) {
	t.Parallel()
	typed := map[string]bool{"tenants/{name}/delete": true}
	for _, r := range removal.Pages().Routes {
		typed[r.Path] = true
	}
	for _, r := range routes() {
		of, end := r.path[:strings.IndexByte(r.path+"/", '/')], path.Base(r.path)
		if r.method == "POST" && (end == "delete" || end == "revoke" || end == "end" && of != "notifications") && !typed[r.path] {
			t.Errorf("POST %s deletes what has no name typed: make it a kind of package removal", r.path)
		}
	}
}
