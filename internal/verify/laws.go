package verify

import (
	"cmp"
	"fmt"
	"slices"
)

// lawID is the number of an invariant: 1 is I1.
type lawID int

func (id lawID) String() string { return fmt.Sprintf("I%d", int(id)) }

// The invariants.
const (
	noLoss lawID = iota + 1
	noPhantom
	conservation
	liveness
	legal
	chain
	token
	oneHolder
	fenced
	markFirst
	finalIsFinal
	truth
	oneSuccess
	explained
	bounded
	hold
	key
	window
	attempts
	timely
	cancel
	suppress
	rate
	order
	fair
	campaign
	idempotent
	tenant
	secrets
	pull
	receipts
	epoch
	poison
	stands
	references
	seals
	account
	told
	gathered
	decided
	afterLast
)

// A Law is one invariant: what must hold in every run.
type Law struct {
	ID    string
	Name  string
	Means string // one sentence
	// Needs are the inputs without which it is not checked.
	Needs []string
	// Missing says why it does not apply to what is built, empty where it does.
	Missing string
}

// The inputs that a law may need besides the event log.
const (
	needClient     = "the client journal"
	needSink       = "the sink journal"
	needLimiter    = "the limiter journal"
	needRest       = "the word that the run is at rest (at-rest)"
	needWindow     = "the time for which the providers know a key (key-window)"
	needStored     = "the stored counts (a database, with at-rest)"
	needRows       = "a database, whose rows are compared"
	needSeals      = "a database with a hash chain"
	needCampaigns  = "a database with campaigns"
	needSuppressed = "a database with suppressions"
	needNotified   = "a database with notifications"
	needGathered   = "a database with collections"
	needNoCanary   = "planted canaries are looked for in logs and pages, which are no input here"
)

// Laws lists every invariant, in the order of their numbers.
func Laws() []Law {
	return []Law{
		{"I1", "no loss", "each message told as accepted is in the log, with one delivery for each of its recipients", []string{needClient}, ""},
		{"I2", "no phantom", "each arrival belongs to a delivery in the log", []string{needSink}, ""},
		{"I3", "conservation", "the stored counts of deliveries by tenant and state are those of the log, and the counts kept of channels are right", []string{needStored}, ""},
		{"I4", "liveness", "at rest no delivery is sending, or pending although it is due", []string{needRest}, ""},
		{"I5", "legal", "each event is a transition of the state machine, and agrees with whether an attempt was under way", nil, ""},
		{"I6", "chain", "a delivery's events are numbered 1, 2, 3 without a gap, each begins where the last ended and says what that said of all it does not change, and time never goes back", nil, ""},
		{"I7", "token", "each claim raises the fencing token by one, and nothing else does", nil, ""},
		{"I8", "one holder", "no lease is taken away, and no other begins, while it runs", nil, ""},
		{"I9", "fenced", "no start and no result is written by another process, or with an older token, than the last claim's, but for late proof", nil, ""},
		{"I10", "mark first", "each arrival comes after the start of its attempt was written, and, but from an agent, before its lease ended", []string{needSink}, ""},
		{"I11", "final is final", "a settled delivery changes by receipts, late proof and recalls alone", nil, ""},
		{"I12", "truth", "what counts as sent has arrived and was answered so", []string{needSink}, ""},
		{"I13", "one success", "a delivery becomes sent at most once", nil, ""},
		{"I14", "explained", "each copy beyond the first follows an attempt whose outcome was unknown", []string{needSink}, ""},
		{"I15", "bounded", "there are no more extra copies than attempts of unknown outcome, and no process lost more at once than it may have under way", []string{needSink}, ""},
		{"I16", "hold", "where the policy is not to repeat, nothing arrives twice by itself", nil, ""},
		{"I17", "key", "a delivery has one idempotency key over all its attempts, and shares it with its replays alone", nil, ""},
		{"I18", "window", "a repeat after an unknown outcome starts while the provider still knows the key", []string{needWindow}, ""},
		{"I19", "attempts", "attempts are numbered, failures are counted one by one and within the tries, and no try starts before its wait is over", nil, ""},
		{"I20", "time", "nothing starts before it is due or after its deadline; only quiet hours that held it let it come due sooner", nil, ""},
		{"I21", "cancel", "nothing starts after a cancel, whatever its answer, and the answer is true", nil, ""},
		{"I22", "suppress", "nothing is sent to an address more than a second after it was suppressed", []string{needSuppressed}, ""},
		{"I23", "rate", "no sliding window of any limit holds more grants than it may, and a refused request is charged nowhere", []string{needLimiter}, ""},
		{"I24", "order", "what has one ordering key starts one after the other, each when those before it are settled, by the time it was due", nil, ""},
		{"I25", "fair", "under saturation each lane has its share", nil, "the log does not say when a lane was saturated; a benchmark measures it"},
		{"I26", "campaign", "each member of a campaign stands in one segment, as what arrived says, and a repair issues anew exactly who was not sent to", []string{needCampaigns}, ""},
		{"I27", "idempotent", "an idempotency key stands for one message, and for one body; no message is there without a call", []string{needClient}, ""},
		{"I28", "tenant", "every event of a message, and every answer about it, is of its own tenant", nil, ""},
		{"I29", "secrets", "planted secrets appear nowhere", nil, needNoCanary},
		{"I30", "pull", "what an agent writes is about what it was handed, what it was told is true, and no report counts twice", nil, ""},
		{"I31", "receipts", "a delivery has at most one receipt, and only after its provider has accepted it", nil, ""},
		{"I32", "epoch", "after a restore nothing starts by itself that may have been sent before", nil, ""},
		{"I33", "poison", "no delivery loses more than five leases of processes, or twenty of agents, and goes on", nil, ""},
		{"I34", "rows", "each row of a delivery is what its last event made it, and the log and the rows know the same deliveries", []string{needRows}, ""},
		{"I35", "references", "each dedup key, each kept answer and each row of a delivery without events of its own stands for a message that is there and says the same", []string{needRows}, ""},
		{"I36", "seals", "what the hash chain has sealed is as it was, and the chain is whole", []string{needSeals}, ""},
		{"I37", "account", "what is pinned to an account starts by that account until it moves to another one, and what may have arrived starts again by the same account alone", nil, ""},
		{"I38", "told", "a notification says of its deliveries what the log says, is in the state that follows, goes on when its step's time is over and ends no sooner, no step of a route begins or starts beside one that has told, and none begins in the epoch that holds it before somebody lets it go", []string{needNotified}, ""},
		{"I39", "gathered", "what a digest has gathered is a member of its collection, waits or has left it, or shares what became of the collection's delivery, and starts nothing of its own meanwhile", []string{needGathered}, ""},
		{"I40", "decided", "a notification is what the journal says was decided of it last, for those, by whom and when it says, and each decision begins where the one before ended", []string{needNotified}, ""},
	}
}

// ruling is what has been found on one law so far.
type ruling struct {
	checked, count int
	kept           []Violation
	why            string // what of it could not be decided
}

// rulings are the state of all laws.
type rulings struct {
	most int // violations to keep of each
	by   [afterLast]ruling
	strays
	frozen map[string]bool // deliveries for which I16 cannot be decided
}

func (r *rulings) checked(id lawID, n int) { r.by[id].checked += n }

// fail counts a violation. The proof is asked for only while there is room to keep it.
func (r *rulings) fail(id lawID, subject string, proof func() []string, format string, args ...any) {
	ruling := &r.by[id]
	ruling.count++
	if len(ruling.kept) < r.most {
		ruling.kept = append(ruling.kept, Violation{Subject: subject, What: fmt.Sprintf(format, args...), Excerpt: proof()})
	}
}

// violated counts a violation whose proof is there.
func (r *rulings) violated(id lawID, v Violation) {
	r.fail(id, v.Subject, func() []string { return v.Excerpt }, "%s", v.What)
}

// broken is how many violations there are of all laws.
func (r *rulings) broken() int {
	n := 0
	for i := range r.by {
		n += r.by[i].count
	}
	return n
}

// invariants are the lines of the report. Given are the needs that were met.
func (r *rulings) invariants(given []string) []Invariant {
	var out []Invariant
	for i, law := range Laws() {
		ruling := &r.by[i+1]
		inv := Invariant{ID: law.ID, Name: law.Name, Status: Held, Checked: ruling.checked, Count: ruling.count, Violations: ruling.kept, Why: ruling.why}
		missing := slices.IndexFunc(law.Needs, func(need string) bool { return !slices.Contains(given, need) })
		switch {
		case law.Missing != "":
			inv.Status, inv.Why, inv.Checked = NotApplicable, law.Missing, 0
		case ruling.count > 0:
			inv.Status = Broken
		case missing >= 0:
			inv.Status, inv.Why, inv.Checked = NotChecked, "needs "+law.Needs[missing], 0
		case ruling.checked <= 0:
			inv.Status, inv.Why, inv.Checked = NotChecked, cmp.Or(ruling.why, "there was nothing to check it on"), 0
		}
		out = append(out, inv)
	}
	return out
}
