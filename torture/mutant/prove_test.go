package mutant

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
)

// goneIgnored writes results into a flight as if nothing had left it.
var goneIgnored = []overlay.Edit{{
	File: "internal/store/cleanrecord.go",
	Old:  "heldFlights = \"SELECT id FROM posthouse_flights WHERE %s AND gone = '' ORDER BY id\"",
	New:  "heldFlights = \"SELECT id FROM posthouse_flights WHERE %s ORDER BY id\"",
}, {
	File: "internal/store/cleanrecord.go",
	Old:  "overFlights = \"DELETE FROM posthouse_flights WHERE %s AND gone = ''\"",
	New:  "overFlights = \"DELETE FROM posthouse_flights WHERE %s\"",
}}

// resultWithoutTokenOnSQLite is what SQLite and MariaDB have in place of the statement of PostgreSQL.
var resultWithoutTokenOnSQLite = []overlay.Edit{{
	File: "internal/store/sqldb/bulk.go",
	Old:  "\" = ? WHERE id = ? AND version = ? AND token = ? AND state = ?\"",
	New:  "\" = ? WHERE id = ? AND version = ? AND COALESCE(?, 0) >= 0 AND state = ?\"",
}}

// rescueByMemory is rescueWithoutGuard with what the process remembers where its memory is.
var rescueByMemory = []overlay.Edit{{
	File: "internal/store/clean.go",
	Old:  "\tempty []string           // flights without deliveries, whose rows are still there\n",
	New:  "\tempty []string           // flights without deliveries, whose rows are still there\n\toverdue []string // leases that had ended when the rescuer last looked\n",
}, {
	File: "internal/store/memory.go",
	Old:  "\tEmpty   []string // flights without deliveries, whose rows are still there\n",
	New:  "\tEmpty   []string // flights without deliveries, whose rows are still there\n\tOverdue []string\n",
}, {
	File: "internal/store/memory.go",
	Old:  "\tm.Empty = slices.Clone(f.empty)\n",
	New:  "\tm.Empty, m.Overdue = slices.Clone(f.empty), slices.Clone(f.overdue)\n",
}, {
	File: "internal/store/memory.go",
	Old:  "\ts.Queue.flights.mu.Unlock()\n",
	New:  "\ts.Queue.flights.overdue = slices.Clone(m.Overdue)\n\ts.Queue.flights.mu.Unlock()\n",
}, rescueWithoutGuard[1], {
	File: rescueWithoutGuard[2].File, Old: rescueWithoutGuard[2].Old,
	New: strings.ReplaceAll(rescueWithoutGuard[2].New, "t.DB.Overdue", "t.flights.overdue"),
}}

// stepOverLeft begins the next step and leaves what has not started of the one before.
var stepOverLeft = []overlay.Edit{{
	File: "internal/route/router.go",
	Old:  "	if len(n.late(now)) > 0 {\n",
	New:  "	if len(n.late(now)) > 99 {\n",
}}

// planOverwritten begins a step whatever has become of the plan since it was read.
var planOverwritten = []overlay.Edit{{
	File: "internal/store/plans.go",
	Old:  "\" WHERE tenant = ? AND type = ? AND id = ? AND version = ?\",\n\t\t\tp.Kind",
	New:  "\" WHERE tenant = ? AND type = ? AND id = ? AND ? > 0\",\n\t\t\tp.Kind",
}}

// repairByOldMap repairs a segment that its owner has changed since it was read. The exploration found it in the product.
var repairByOldMap = []overlay.Edit{{
	File: "internal/store/campaigns/claim.go",
	Old:  "AND status = ? AND outcomes = ? AND lease_until < ?",
	New:  "AND status = ? AND ? IS NOT NULL AND lease_until < ?",
}}

// capAskedOnce takes a start for one that the cap has counted. The product had it.
var capAskedOnce = []overlay.Edit{{
	File: "internal/state/tiers.go",
	Old:  "return d.ClaimLosses == 0 && (Doubtful(d)",
	New:  "return (Doubtful(d)",
}}

// startsNotAwaited raises the epoch while accepts start what they have seen allowed.
var startsNotAwaited = []overlay.Edit{{
	File: "internal/store/epoch.go",
	Old:  "func(t *tx) error { return t.AwaitStarts() })",
	New:  "func(t *tx) error { _, err := t.Now(); return err })",
}}

// startInAnyEpoch starts with the accept whatever the epoch is.
var startInAnyEpoch = []overlay.Edit{{
	File: "internal/store/start.go",
	Old:  "(SELECT value FROM posthouse_meta WHERE name = 'epoch') = ?, false)",
	New:  "(SELECT value FROM posthouse_meta WHERE name = 'epoch') <> ?, true) OR true",
}, {
	File: "internal/store/start.go",
	Old:  "\treturn readEpoch(t.Query)\n",
	New:  "\treturn own, nil\n",
}}

// startedLater stores what begins when its caller has been answered.
var startedLater = []overlay.Edit{{
	File: "internal/store/start.go",
	Old: `		for _, m := range made { // after the accept: the feed has that first
			if err := (clearing{t.tx}).takeOff(m, []any{m.Tenant, m.Channel, sqldb.PriorityNumber(m.Priority)}, now); err != nil {
				return nil, err
			}
		}
`,
	New: "\t\t_ = now\n",
}, {
	File: "internal/store/start.go",
	Old:  "\tstarts := make([]work.Start, len(made))\n",
	New: `	err = s.change(ctx, now, "start", func(t *tx) error {
		at, err := t.Now()
		for _, m := range made {
			if err == nil {
				err = clearing{t}.takeOff(m, []any{m.Tenant, m.Channel, sqldb.PriorityNumber(m.Priority)}, at)
			}
		}
		return err
	})
	if err != nil {
		return outcomes, nil, err
	}
	starts := make([]work.Start, len(made))
`,
}}

// dueAndStarted leaves what begins with its accept to others as well.
var dueAndStarted = []overlay.Edit{{
	File: "internal/store/accept.go",
	Old:  "\tfor _, a := range waiting {\n",
	New:  "\tfor _, a := range clean {\n",
}}

// seatLeaks keeps the seat of an accept that failed.
var seatLeaks = []overlay.Edit{{
	File: "internal/engine/seats.go",
	Old:  "\t\tdefault:\n\t\t\tt.of.back(a)\n",
	New:  "\t\tdefault:\n",
}}

// freedUnasked takes an accept that gave no answer for one that failed.
var freedUnasked = []overlay.Edit{{
	File: "internal/engine/seats.go",
	Old:  "\t\t\tgo t.of.lost(a, t.since)\n",
	New:  "\t\t\tt.of.back(a)\n",
}}

// backlogPassed gives seats whatever waits.
var backlogPassed = []overlay.Edit{{
	File: "internal/engine/seats.go",
	Old:  "now.Sub(l.empty) <= s.age\n",
	New:  "s.age > 0\n",
}, {
	File: "internal/engine/seats.go",
	Old:  "\t\t\tif due {\n",
	New:  "\t\t\tif due && s.age < 0 {\n",
}}

// answeredTwice has a word that is told again mean what waits by then.
var answeredTwice = []overlay.Edit{{
	File: "internal/front/ack/answer.go",
	Old:  "	if kept {\n",
	New:  "	if kept && id == nil {\n",
}, {
	File: "internal/front/ack/answer.go",
	Old:  "	id, err = l.Meant.KeepAnswer(ctx, tenant, asMeant, key, \"\", []byte(means))\n",
	New:  "	id = []byte(means)\n",
}}

// goesOnAcknowledged keeps looking at a notification that was acknowledged, and begins its next step.
var goesOnAcknowledged = []overlay.Edit{{
	File: "internal/route/advance.go",
	Old:  "n.State, n.Reason, n.NextAt = posthouse.NotificationAcknowledged, \"\", time.Time{}\n",
	New:  "n.State, n.Reason = posthouse.NotificationAcknowledged, \"\"\n",
}, {
	File: "internal/route/router.go",
	Old:  "	if n.State != posthouse.NotificationWaiting {\n		drafts, err := r.tellEnd(",
	New:  "	if n.State != posthouse.NotificationWaiting && n.Ack == nil {\n		drafts, err := r.tellEnd(",
}, {
	File: "internal/route/notification.go",
	Old:  "	if n.State != posthouse.NotificationWaiting {\n		next = n.tell\n",
	New:  "	if n.State != posthouse.NotificationWaiting && n.Ack == nil {\n		next = n.tell\n",
}}

// confirmedUnwritten answers a provider that all is taken, whatever could be written.
var confirmedUnwritten = []overlay.Edit{{
	File: "internal/callback/desk.go",
	Old:  "		answer = failed\n		answer.page = heard.Page\n",
	New:  "",
}}

// notificationsUnheld lets notifications go on in a new epoch.
var notificationsUnheld = []overlay.Edit{{File: "internal/store/epoch.go", Old: "err = s.holdNotifications(ctx, now, tenant)", New: "err = nil"}}

// heldUnnoticed holds a notification in the version that a planner may have read.
var heldUnnoticed = []overlay.Edit{{File: "internal/store/epoch.go", Old: "SET held = ?, next_at = 0, version = version + 1, updated_at", New: "SET held = ?, next_at = 0, updated_at"}}

// capKept keeps counting what a provider has refused against its recipient's cap.
var capKept = []overlay.Edit{{
	File: "internal/engine/deliveries.go",
	Old:  "if some && state.Unsent(d.result.Class) { // a cap",
	New:  "if some && d.result.Class == \"\" { // a cap",
}}

// tested are seeded bugs of the engine's loop that a test of the engine finds, by its name.
var tested = []struct {
	name, by, says string
	edits          []overlay.Edit
}{
	{"a seat that leaks", "^TestNoSeatLeaks$", "seats are taken", seatLeaks},
	{"seats freed after a lost answer", "^TestAStartWithoutAnAnswerGoesBackUnsent$", "seats are taken", freedUnasked},
	{"a cap that is not given back", "^TestACapCountsWhatAPersonGets$", "capped", capKept},
	{"a lane with a backlog passed", "^TestABacklogIsNotPassedForEver$", "want sent", backlogPassed},
}

// TestTestsOfTheEngineFindItsSeededBugs builds the tests of the engine with each bug, and wants one to fail.
func TestTestsOfTheEngineFindItsSeededBugs(t *testing.T) {
	t.Parallel()
	for _, bug := range tested {
		t.Run(bug.name, func(t *testing.T) {
			overlay.Check(t, bug.edits...)
			if !house.Full() {
				return
			}
			out, err := output(t, overlay.Tests(t, "./internal/engine", bug.edits...), "-test.run", bug.by, "-test.v", "-test.timeout=1m")
			if err == nil || !strings.Contains(out, bug.says) && !strings.Contains(out, "panic: test timed out") {
				t.Fatalf("the bug is not found: %v, want a failure that says %q\n%s", err, bug.says, out)
			}
			house.Report(t, house.Row{Test: "P3", What: bug.name, N: 1, Unit: "bug", Figure: "found: " + bug.by, Bar: "a named test fails", Pass: true})
		})
	}
}

// The two ways in which torture/internal/prove explores.
const (
	schedules = "^TestEveryScheduleHoldsTheLaws$/^"
	pairs     = "^TestEveryPairOfTransactionsHoldsTheLaws$/^"
)

// explored are the seeded bugs that the exploration of schedules must find in its short form, by the law that it names. Three more
// of the core's are beyond it: leaseByOwnClock, since all its processes share a clock; commitRepeated, since no answer to a COMMIT
// is lost there; segmentOfTwo, since the look for a segment and its claim are one step.
var explored = []struct {
	name, by, law string
	edits         []overlay.Edit
}{
	{"a rescue without a look at the lease", schedules + "hold$", "a lease is taken only when it has ended", rescueByMemory},
	{"no token in the write of a result", schedules + "retry$", "tokens rise with each start", slices.Concat(resultWithoutToken, resultWithoutTokenOnSQLite)},
	{"a window counted from the last start", schedules + "window$", "nobody is reached twice", windowFromLastStart},
	{"a cancel that leaves the due entry", schedules + "hold$", "each delivery stands in exactly one place", cancelWithoutLook},
	{"a line that does not ask for its holder", schedules + "line$", "of one ordering key one is under way at a time", admitAtOnce},
	{"claims that select, then update", pairs + "postgres$", "each delivery stands in exactly one place", claimWithoutLock},
	{"nobody waits for what is starting", pairs + "postgres$", "when an epoch has begun nothing is under way", startsNotAwaited},
	{"the same on MariaDB", pairs + "mariadb$", "when an epoch has begun nothing is under way", startsNotAwaited},
	{"a start that does not name its epoch", pairs + "postgres$", "when an epoch has begun nothing is under way", startInAnyEpoch},
	{"the same on MariaDB", pairs + "mariadb$", "when an epoch has begun nothing is under way", startInAnyEpoch},
	{"a flight written after the answer", pairs + "mariadb$", "a transaction succeeds", startedLater},
	{"two owners of a flight", schedules + "accept$", "each delivery stands in exactly one place", dueAndStarted},
	{"a cap that is not asked again after a crash", schedules + "cap$", "nobody gets more messages than a cap lets through", capAskedOnce},
	{"a repair issues anew who is done", schedules + "segment$", "the database never says less of a member", doneAreIssued},
	{"a repair by the map of before", schedules + "owner$", "the database never says less of a member", repairByOldMap},
	{"a step that begins when the one before is in doubt", schedules + "route$", "no two steps of a route tell one person", doubtIsFailure},
	{"a step over that still may begin", schedules + "route$", "no two steps of a route tell one person", stepOverLeft},
	{"both steps start", schedules + "route$", "a transaction succeeds", planOverwritten},
	{"nothing withdrawn at an acknowledgement", schedules + "route$", "nothing of a notification that is over waits to begin", nothingWithdrawn},
	{"a success that its notification does not hear of", schedules + "route$", "a notification says of its deliveries what their rows say", deafToSuccess},
	{"a digest that does not write who has joined", schedules + "digest$", "what a digest has gathered is a member of the collection", memberDropped},
	{"one member alone shares the fate of a digest", schedules + "digest$", "a member shares what became of its collection's delivery", fateOfTheFirst},
	{"a text that keeps who was cancelled", schedules + "digest$", "a collection's text has its members", textKept},
	{"a member leaves a text that is being sent", schedules + "digest$", "sent is said of what the provider has accepted", leavesTooLate},
	{"two texts of a collection", schedules + "digest$", "a transaction succeeds", planOverwritten},
	{"an answer that is told again acknowledges another one", schedules + "answers_of_two$", "an answer acknowledges at most one notification, once", answeredTwice},
	{"a route that goes on after an acknowledgement", schedules + "answers$", "an acknowledged notification starts no further step", goesOnAcknowledged},
	{"an acknowledgement confirmed before it is written", schedules + "answers$", "an acknowledgement that was confirmed to the provider is stored", confirmedUnwritten},
	{"a new epoch that holds no notification", schedules + "restored$", "in a new epoch no step of a notification begins", notificationsUnheld},
	{"a planner that has read what an epoch holds", schedules + "restored$", "in a new epoch no step of a notification begins", heldUnnoticed},
	{"a result in a flight that its delivery has left", schedules + "hold$", "each delivery stands in exactly one place", goneIgnored},
}

// TestTheExplorationFindsTheSeededBugsOfTheCore builds the exploration of schedules with each bug, and wants a violation with
// its schedule. Without a bug it finds none: that is its own test.
func TestTheExplorationFindsTheSeededBugsOfTheCore(t *testing.T) {
	t.Parallel()
	for i, bug := range explored {
		t.Run(bug.name, func(t *testing.T) {
			overlay.Check(t, bug.edits...)
			if i > 0 && !house.Full() {
				return // one is built and sought; the others are by make prove
			}
			out, err := output(t, overlay.Tests(t, "./torture/internal/prove", bug.edits...), "-test.run", bug.by, "-test.v")
			if err == nil || !strings.Contains(out, bug.law) {
				t.Fatalf("the bug is not found: %v, want a violation of %q\n%s", err, bug.law, out)
			}
			house.Report(t, house.Row{
				Test: "P3", What: bug.name, N: 1, Unit: "bug", Figure: "found: " + bug.law, Bar: "the shortest schedule that breaks a law", Pass: true,
			})
			t.Log(firstStory(out))
		})
	}
}

// output runs a program, and returns what it wrote. It goes into a file: a database that the program starts holds a pipe for longer.
func output(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdout, cmd.Stderr = file, file
	cmd.Env = append(os.Environ(), "POSTHOUSE_TORTURE=") // the short form finds it
	failed := cmd.Run()
	file.Close()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), failed
}

// firstStory is the first violation in the words of the exploration.
func firstStory(out string) string {
	for _, begins := range []string{"scene ", "deliveries that are "} {
		if _, story, found := strings.Cut(out, begins); found {
			story, _, _ = strings.Cut(story, "\n---")
			story, _, _ = strings.Cut(story, "\n===")
			return begins + story
		}
	}
	return out
}
