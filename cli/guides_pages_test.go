package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/secret"
)

// guide is a page, with what its blocks do not say themselves. The keys of its tables are how a block begins.
type guide struct {
	file string
	// starts says that the page starts its server itself, and the simulator too.
	starts bool
	// untyped says why a block is not typed, nor compared.
	untyped map[string]string
	// use is what a reader does with a block that is neither typed nor printed.
	use map[string]func(*guideReader, block)
	// before is what the page's words, not its blocks, have happened by then.
	before map[string]func(*guideReader)
	// meet is what stands here for addresses, files and people of the page that are not there.
	meet func(*guideReader) map[string]string
}

const (
	byGo         = "Go: the same calls are examples of the package, compiled and run by its tests"
	byOthers     = "wants another language and its driver"
	takesLong    = "takes minutes and a kill: the tests of internal/remind and internal/engine do the same in virtual time"
	isAPicture   = "a picture"
	needsMany    = "needs hundreds of deliveries of a restored copy: the tests of internal/api decide by filter"
	isAForm      = "the form of a request: the blocks after it are whole ones"
	isSentThere  = "what a provider is sent: the driver's tests compare it"
	isAskedUs    = "what a resolver of the reader's own is asked and answers: package flow's tests play one"
	isAPart      = "a part of a channel's file"
	needsMonths  = "needs the messages of a month: TestArchiveHoldsWhatSettled writes and reads one"
	isToldThere  = "what a subscriber is told: the tests of server compare it"
	bySenders    = "is for senders, which torture/senders drives at a server that takes mail"
	needsAnEnd   = "wants an address of the reader's own: the tests of server have one"
	neverEnds    = "goes on until it is stopped: the tests of server read the same stream"
	needsCRM     = "wants a database of another program: TestASchedulesCampaigns starts campaigns of such people"
	needsOpenSSL = "wants jq and openssl: TestAProofSaysWhatBecameOfAMessage runs the same commands"
	isTheDemo    = "runs until it is ended: theDemo runs it once and compares what it prints"
	needsTwo     = "wants two database servers: torture/failover promotes one of them"
	needsPlaces  = "wants two places: torture/failover hands over from one to the other"
)

var ofMail = map[string]string{"name: mail": isAForm, "callback_url:": isAPart, `{"channel": "mail"`: isAForm}

var ofMailIn = map[string]string{"posthouse serve --front-hosts": needsAnEnd, "posthouse serve --smtp-listen": bySenders, "account default": bySenders, `echo "`: bySenders}

// A database server is lost in torture/failover.
var ofFailover = map[string]string{
	"[mariadb]": needsTwo, "CHANGE MASTER": needsTwo, "STOP SLAVE IO_THREAD": needsTwo, "SELECT MASTER_GTID_WAIT": needsTwo, "export POSTHOUSE_DSN": needsTwo, "ALTER SYSTEM": needsTwo, "posthouse doctor": needsTwo, "SELECT pg_": needsTwo, "posthouse migrate new-epoch": needsTwo,
	"dsn: postgres": needsPlaces, `{"status": 503`: needsPlaces, "posthouse place": needsPlaces, "pg_ctl stop": needsPlaces,
}

var ofChannels = map[string]string{`{"title":`: isSentThere, `{"type": "message"`: isSentThere, "rate:": isAPart, `{"type": "template"`: "a content: TestAButtonOfACardAcknowledges sends such a card",
	"posthouse channel callbacks add work": "calls DingTalk itself: TestTheSimulatorPlaysCards makes the same calls"}

var ofSMS = map[string]string{"name: sms": isAForm, `{"channel": "sms"`: isAForm}

var guides = []guide{
	{file: "../README.md", untyped: map[string]string{"make demo": isTheDemo}},
	{file: "../README.zh-CN.md", untyped: map[string]string{"make demo": isTheDemo}},
	{file: "../docs/guide/first-steps.md", starts: true, untyped: map[string]string{"make demo": isTheDemo}, use: map[string]func(*guideReader, block){"server on http": theDemo("en")}, before: firstStepsBefore, meet: production},
	{file: "../docs/guide/first-steps.zh-CN.md", starts: true, untyped: map[string]string{"make demo": isTheDemo}, use: map[string]func(*guideReader, block){"服务 http": theDemo("zh")}, before: firstStepsBefore, meet: production},
	{file: "../docs/guide/email.md", untyped: ofMail},
	{file: "../docs/guide/email.zh-CN.md", untyped: ofMail},
	{file: "../docs/guide/feishu.md"},
	{file: "../docs/guide/feishu.zh-CN.md"},
	{file: "../docs/guide/push.md"},
	{file: "../docs/guide/push.zh-CN.md"},
	{file: "../docs/guide/cloud-sms.md", untyped: ofSMS},
	{file: "../docs/guide/cloud-sms.zh-CN.md", untyped: ofSMS},
	{file: "../docs/guide/agents.md", untyped: map[string]string{"POST claims": isAForm}, before: agentsBefore},
	{file: "../docs/guide/agents.zh-CN.md", untyped: map[string]string{"POST claims": isAForm}, before: agentsBefore},
	{file: "../docs/guide/api.md", before: map[string]func(*guideReader){"curl": channelsOf("desk")}},
	{file: "../docs/guide/api.zh-CN.md", before: map[string]func(*guideReader){"curl": channelsOf("desk")}},
	{file: "../docs/guide/backup-and-restore.md", starts: true, untyped: ofBackups},
	{file: "../docs/guide/backup-and-restore.zh-CN.md", starts: true, untyped: ofBackups},
	{file: "../docs/guide/high-availability.md", untyped: ofFailover},
	{file: "../docs/guide/high-availability.zh-CN.md", untyped: ofFailover},
	{file: "../docs/guide/callbacks.md", untyped: map[string]string{`{"type": "callback`: isToldThere}},
	{file: "../docs/guide/callbacks.zh-CN.md", untyped: map[string]string{`{"type": "callback`: isToldThere}},
	{file: "../docs/guide/console.md", untyped: map[string]string{"oidc_issuer:": isAPart}},
	{file: "../docs/guide/console.zh-CN.md", untyped: map[string]string{"oidc_issuer:": isAPart}},
	{file: "../docs/guide/channels.md", untyped: ofChannels},
	{file: "../docs/guide/channels.zh-CN.md", untyped: ofChannels},
	{file: "../docs/guide/duty.md", use: dutyUse, meet: onDuty},
	{file: "../docs/guide/duty.zh-CN.md", use: dutyUse, meet: onDuty},
	{file: "../docs/guide/events.md", meet: onSQLite},
	{file: "../docs/guide/events.zh-CN.md", meet: onSQLite},
	{file: "../docs/guide/campaigns.md"},
	{file: "../docs/guide/campaigns.zh-CN.md"},
	{file: "../docs/guide/fleet.md"},
	{file: "../docs/guide/fleet.zh-CN.md"},
	{file: "../docs/guide/follow.md", untyped: map[string]string{`{"type": "notification`: isToldThere, `{"type": "budget`: isToldThere, "posthouse subscription add": needsAnEnd, "posthouse follow": neverEnds}},
	{file: "../docs/guide/follow.zh-CN.md", untyped: map[string]string{`{"type": "notification`: isToldThere, `{"type": "budget`: isToldThere, "posthouse subscription add": needsAnEnd, "posthouse follow": neverEnds}},
	{file: "../docs/guide/install.md", starts: true, untyped: ofInstallation},
	{file: "../docs/guide/install.zh-CN.md", starts: true, untyped: ofInstallation},
	{file: "../docs/guide/fronts.md", untyped: ofMailIn},
	{file: "../docs/guide/fronts.zh-CN.md", untyped: ofMailIn},
	{file: "../docs/guide/media.md", untyped: map[string]string{`{"channel"`: "names a file of another server"}},
	{file: "../docs/guide/media.zh-CN.md", untyped: map[string]string{`{"channel"`: "names a file of another server"}},
	{file: "../docs/guide/presets.md", untyped: map[string]string{"PUT /v1/channels": isAForm}},
	{file: "../docs/guide/presets.zh-CN.md", untyped: map[string]string{"PUT /v1/channels": isAForm}},
	{file: "../docs/guide/quiet-hours.md", use: map[string]func(*guideReader, block){"[{": quietened}},
	{file: "../docs/guide/quiet-hours.zh-CN.md", use: map[string]func(*guideReader, block){"[{": quietened}},
	{file: "../docs/guide/people.md"},
	{file: "../docs/guide/people.zh-CN.md"},
	{file: "../docs/guide/preferences.md"},
	{file: "../docs/guide/preferences.zh-CN.md"},
	{file: "../docs/guide/suppressions.md"},
	{file: "../docs/guide/suppressions.zh-CN.md"},
	{file: "../docs/guide/notify.md"},
	{file: "../docs/guide/notify.zh-CN.md"},
	{file: "../docs/guide/operations.md", untyped: map[string]string{"posthouse resolve retry --channel oa": needsMany, "posthouse archive": needsMonths}, starts: true, before: operationsBefore, meet: machines},
	{file: "../docs/guide/operations.zh-CN.md", untyped: map[string]string{"posthouse resolve retry --channel oa": needsMany, "posthouse archive": needsMonths}, starts: true, before: operationsBefore, meet: machines},
	{file: "../docs/guide/outbox.md", untyped: ofOutbox, before: outboxBefore},
	{file: "../docs/guide/outbox.zh-CN.md", untyped: ofOutbox, before: outboxBefore},
	{file: "../docs/guide/monitoring.md", untyped: map[string]string{"scrape_configs:": isAFile}, meet: locally},
	{file: "../docs/guide/monitoring.zh-CN.md", untyped: map[string]string{"scrape_configs:": isAFile}, meet: locally},
	{file: "../docs/guide/moving-over.md"},
	{file: "../docs/guide/moving-over.zh-CN.md"},
	{file: "../docs/guide/production.md", starts: true, untyped: ofProduction, meet: pair},
	{file: "../docs/guide/production.zh-CN.md", starts: true, untyped: ofProduction, meet: pair},
	{file: "../docs/guide/reminders.md", untyped: map[string]string{"desk -> li.na": takesLong, "$ posthouse status": takesLong}},
	{file: "../docs/guide/routes.md", use: map[string]func(*guideReader, block){"{": routed}},
	{file: "../docs/guide/routes.zh-CN.md", use: map[string]func(*guideReader, block){"{": routed}},
	{file: "../docs/guide/digests.md", untyped: ofDigests},
	{file: "../docs/guide/digests.zh-CN.md", untyped: ofDigests},
	{file: "../docs/guide/schedules.md", untyped: map[string]string{"posthouse campaign add bill": needsCRM}},
	{file: "../docs/guide/schedules.zh-CN.md", untyped: map[string]string{"posthouse campaign add bill": needsCRM}},
	{file: "../docs/guide/sms.md", starts: true},
	{file: "../docs/guide/sms.zh-CN.md", starts: true},
	{file: "../docs/guide/reminders.zh-CN.md", untyped: map[string]string{"desk -> li.na": takesLong, "$ posthouse status": takesLong}},
	{file: "../docs/guide/templates.zh-CN.md", use: map[string]func(*guideReader, block){`{"channel"`: posted("/v1/messages")}},
	{file: "../docs/guide/templates.md", use: map[string]func(*guideReader, block){`{"channel"`: posted("/v1/messages")}},
	{file: "../docs/guide/proof.md", untyped: map[string]string{"$ jq": needsOpenSSL, "posthouse archive": needsMonths}},
	{file: "../docs/guide/proof.zh-CN.md", untyped: map[string]string{"$ jq": needsOpenSSL, "posthouse archive": needsMonths}},
	{file: "../docs/guide/verify.md", before: map[string]func(*guideReader){"posthouse verify": journals}},
	{file: "../docs/guide/verify.zh-CN.md", before: map[string]func(*guideReader){"posthouse verify": journals}},
	{file: "../docs/guide/troubleshooting.md"},
	{file: "../docs/guide/troubleshooting.zh-CN.md"},
	{file: "../docs/guide/upgrade.md"},
	{file: "../docs/guide/upgrade.zh-CN.md"},
	{file: "../docs/guide/workflow.md", untyped: map[string]string{"POST /who": isAskedUs, `{"users"`: isAskedUs}},
	{file: "../docs/guide/workflow.zh-CN.md", untyped: map[string]string{"POST /who": isAskedUs, `{"users"`: isAskedUs}},
}

var ofDigests = map[string]string{"posthouse channel set mail": takesLong, "alerts (20)": "what a robot posts: TestTwentyAlertsAreOnePost reads one"}

var ofOutbox = map[string]string{
	"your transaction:": isAPicture, "box, err :=": byGo, "err = box.": byGo, "outbox.Options": byGo, "try (": byOthers, "with connection": byOthers,
}

var outboxBefore = map[string]func(*guideReader){
	"INSERT INTO posthouse_outbox (draft) VALUES ('{\"channel": channelsOf("oa"), "INSERT INTO posthouse_outbox (draft) VALUES ('{\"job": defaultTexts, "$ posthouse outbox list": rejected,
}

// ofProduction are a picture, and files of other programs: TestFilesOfProductionSayWhatTheServerTakes reads those.
var ofProduction = map[string]string{" ": isAPicture, "addr:": isAFile, "upstream posthouse": isAFile, "apiVersion": isAFile}

const isAFile = "a file of systemd, nginx, Kubernetes or Prometheus"

const (
	changesAll = "changes the machine: packaging/try.sh does it in a root of its own"
	needsADist = "needs what make dist makes: packaging/try.sh does it"
)

var ofInstallation = map[string]string{"sha256sum": needsADist, "apt install": changesAll, "systemctl": changesAll, "docker load": needsADist,
	"./secrets.sh": needsADist, "docker compose": needsADist, "skopeo copy": needsADist, "helm upgrade": needsADist,
	"echo 'COMPOSE_FILE=": needsADist, "kubectl create secret tls": needsADist}

var ofBackups = map[string]string{
	"posthouse backup": isOfBackups, "posthouse restore": isOfBackups, "pg_dump": isOfBackups, "psql": isOfBackups, "pg_basebackup": isOfBackups, "mariadb-dump": isOfBackups, "tail": isOfBackups,
}

// The reader has ended the server and the simulator before the one that is for production.
var firstStepsBefore = map[string]func(*guideReader){"export POSTHOUSE_DSN": (*guideReader).endAll}

// onSQLite writes a query as the page of events says of SQLite.
func onSQLite(*guideReader) map[string]string {
	return map[string]string{"extract(epoch FROM now())::bigint": "unixepoch()"}
}

// production is the database and the place of the last chapter of the first steps.
func production(r *guideReader) map[string]string {
	root, err := filepath.Abs("..")
	if err != nil {
		r.Fatal(err)
	}
	return map[string]string{
		"postgres://posthouse:password@db.example.com/posthouse": dbtest.Durable(r.T, dbtest.KindPostgres),
		"10.0.0.11:8080":      freeAddr(r.T),
		"/etc/posthouse.keys": filepath.Join(r.dir, "keys"),
		// The build alone is left out, for the time it takes.
		"make install": "make -s -C " + root + " install GO=true BIN=" + r.bin,
	}
}

// machines are the three of the guide to operations, here three ports, and their database.
func machines(r *guideReader) map[string]string {
	r.dsn = dbtest.Durable(r.T, dbtest.KindPostgres)
	return map[string]string{"10.0.0.11:8080": r.addr(), "10.0.0.12:8080": freeAddr(r.T), "10.0.0.13:8080": freeAddr(r.T)}
}

// locally has a health check ask where the test's server listens.
func locally(r *guideReader) map[string]string {
	return map[string]string{"posthouse healthy --ready": "posthouse healthy --ready --addr " + r.addr()}
}

// pair are the two servers of the guide to production, their database and their keyring.
func pair(r *guideReader) map[string]string {
	names := machines(r)
	delete(names, "10.0.0.13:8080")
	names["postgres://posthouse:password@db.example.com/posthouse"] = r.dsn
	names["/etc/posthouse.keys"] = filepath.Join(r.dir, "keys")
	return names
}

var operationsBefore = map[string]func(*guideReader){
	"posthouse migrate --dsn": func(r *guideReader) {
		r.typeIn("export POSTHOUSE_API_KEY=" + secret.FormatKey(secret.NewKey()) + " DSN='" + r.dsn + "'")
	},
	// Something was due when the copy was made, and a person has stopped all processes to restore it.
	"posthouse migrate new-epoch": func(r *guideReader) {
		channelsOf("desk")(r)
		if _, err := r.api.Channels.Pause(r.Context(), "desk", ""); err != nil {
			r.Fatal(err)
		}
		draft := posthouse.Draft{Channel: "desk", To: []posthouse.Recipient{{User: "li.na"}}, Content: &posthouse.Content{Text: "今晚 18:00 起请值班"}}
		if _, err := r.api.Messages.Send(r.Context(), draft); err != nil {
			r.Fatal(err)
		}
		r.endAll()
	},
	"posthouse status": func(r *guideReader) {
		command := r.ours(`posthouse serve --dsn "$DSN" --addr ` + r.addr())
		r.typeIn(command)
		r.up(command)
		r.until("held", func() bool {
			list, err := r.api.Deliveries.List(r.Context(), client.Filter{States: []posthouse.State{posthouse.Unknown}})
			return err == nil && len(list.Items) > 0
		})
	},
}

// When an agent was last heard of is written every few seconds.
var agentsBefore = map[string]func(*guideReader){"$ posthouse agent list": func(r *guideReader) {
	r.until("seen", func() bool {
		page, err := r.api.Agents.List(r.Context(), client.Filter{})
		return err == nil && !page.Items[0].LastSeenAt.IsZero()
	})
}}

func channelsOf(names ...string) func(*guideReader) {
	return func(r *guideReader) {
		for _, name := range names {
			if _, _, err := r.api.Channels.Put(r.Context(), posthouse.Channel{Name: name, Driver: "console"}); err != nil {
				r.Fatal(err)
			}
		}
	}
}

func defaultTexts(r *guideReader) {
	if out, code := r.typeIn("posthouse workflow init"); code != 0 {
		r.Fatal(out)
	}
}

// rejected waits until the relay has found that a row cannot be accepted.
func rejected(r *guideReader) {
	r.until("rejected", func() bool {
		out, code := r.typeIn("posthouse outbox list --json")
		return code == 0 && strings.Contains(out, "courier")
	})
}

// journals are those of a run in which nothing happened.
func journals(r *guideReader) {
	r.typeIn("export POSTHOUSE_DSN='" + r.dsn + "'")
	for _, name := range []string{"client", "sink", "limiter", "agents", "faults"} {
		if err := os.WriteFile(filepath.Join(r.dir, name+".jsonl"), nil, 0o600); err != nil {
			r.Fatal(err)
		}
	}
}

// dutyUse: the page's roster is of the days of a week, and of a channel it shows the rules alone.
var dutyUse = map[string]func(*guideReader, block){
	`{"days"`: func(r *guideReader, b block) { r.send(http.MethodPut, "/v1/rosters/night", b.text) },
	`{"rules"`: func(r *guideReader, b block) {
		var ch map[string]any
		if err := json.Unmarshal([]byte(b.text), &ch); err != nil {
			r.Fatal(err)
		}
		ch["driver"] = "console"
		text, _ := json.Marshal(ch)
		r.send(http.MethodPut, "/v1/channels/night", string(text))
	},
}

// onDuty is who is to be written to on the day of the test: on the page it is Saturday.
func onDuty(*guideReader) map[string]string {
	zone := time.FixedZone("the server's", 8*60*60)
	today := time.Now().In(zone)
	user := []string{"sun.li", "li.na", "wang.fang", "zhang.wei", "li.na", "wang.fang", "sun.li"}[today.Weekday()]
	if today.Format(time.DateOnly) == "2027-01-01" {
		user = "zhao.min"
	}
	return map[string]string{`"sun.li"`: `"` + user + `"`, "周六: sun.li": "周" + string([]rune("日一二三四五六")[today.Weekday()]) + ": " + user}
}

// posted says that a block is the body of a request.
func posted(path string) func(*guideReader, block) {
	return func(r *guideReader, b block) { r.send(http.MethodPost, path, b.text) }
}

// send makes a request that has to succeed.
func (r *guideReader) send(method, path, body string) {
	r.Helper()
	r.write("body.json", body)
	out, code := r.typeIn("curl -sS --fail-with-body -X " + method + " " + r.url + path +
		` -H "Authorization: Bearer $POSTHOUSE_API_KEY" -H 'Content-Type: application/json' -d @body.json`)
	if code != 0 {
		r.Errorf("%s %s\n%s\nends with %d: %s", method, path, body, code, out)
	}
}

// routed makes what a route names, keeps the route as a file, and stores it under another name than the page does.
func routed(r *guideReader, b block) {
	r.Helper()
	r.write("route.json", b.text)
	r.send(http.MethodPut, "/v1/routes/of-the-page", b.text)
}

// quietened has the tenant take the quiet hours of a block.
func quietened(r *guideReader, b block) {
	r.send(http.MethodPut, "/v1/tenants/of-the-page", `{"quiet_hours": `+b.text+`}`)
}

// endAll ends what was left in the background.
func (r *guideReader) endAll() {
	r.Helper()
	if out, code := r.typeIn("kill $(jobs -p); wait || true"); code != 0 {
		r.Fatal(out)
	}
	r.api = nil
}

func (r *guideReader) addr() string { return strings.TrimPrefix(r.url, "http://") }
