package mutant

import (
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
)

// mutant is one seeded bug and the run that shows it.
type mutant struct {
	bug    int    // its number in the list of seeded bugs
	name   string // what was done wrong
	breaks string // what becomes of messages by it
	law    string // the invariant that must be found violated
	edits  []overlay.Edit
	run    scenario
	quick  bool // among the few that make test runs
}

// scenario is a run in which a bug shows, and which the product as it is survives.
type scenario struct {
	fault string // in a few words
	db    house.Database
	// world makes edits that belong to the fault and not to the bug: the product as it is has them too.
	// Defaults to none.
	world func(testing.TB) []overlay.Edit
	// keyWindow is how long the provider knows an idempotency key, where the run is about that.
	keyWindow time.Duration
	// seen is what must have happened for the run to prove anything, as the checker names it, with
	// commas between. Defaults to "none".
	seen string
	// play makes a run with members of a binary, up to where nothing more will happen by itself.
	play func(r *rig) *house.House
}

// with are the edits of the run and those of a bug.
func (s *scenario) with(t testing.TB, bug []overlay.Edit) []overlay.Edit {
	t.Helper()
	if s.world == nil {
		return bug
	}
	return slices.Concat(s.world(t), bug)
}

// mutants are the seeded bugs that apply to what is built so far.
var mutants = []mutant{{
	bug: 1, name: "the answer before the commit", breaks: "who is told 202 may find nothing stored",
	law: "I1", edits: answerBeforeCommit, run: lostCommits,
}, {
	bug: 2, name: "no token in the write of a result", breaks: "the late result of a holder that lost its lease ends the attempt of the next one",
	law: "I9", edits: resultWithoutToken, run: frozenHolder,
}, {
	bug: 3, name: "the rescuer acts on what it read a tick ago", breaks: "takes leases from holders that are alive: two send at once",
	law: "I8", edits: rescueWithoutGuard, run: frozenHolder,
}, {
	bug: 4, name: "a hand-out that counts as done", breaks: "what a phone was handed when it died is never sent",
	law: "I4", edits: fetchedIsGone, run: deadPhone,
}, {
	bug: 5, name: "claims that select, then update", breaks: "two processes claim and send the same deliveries",
	law: "I14", edits: claimWithoutLock, run: twoDispatchers, // of clean deliveries one of the two starts is stored: arrivals alone tell
}, {
	bug: 7, name: "permits noted in the first tier alone", breaks: "an account goes as fast as its channel may",
	law: "I23", edits: firstTierAlone, run: twoTiers,
}, {
	bug: 8, name: "a new idempotency key for each attempt", breaks: "the provider cannot recognise a repetition",
	law: "I2", edits: keyOfEachAttempt, run: lostAnswers, quick: true,
}, {
	bug: 9, name: "the dedup window counted from the last attempt", breaks: "repeats after the provider has forgotten the key",
	law: "I18", edits: windowFromLastStart, run: longOutage,
}, {
	bug: 10, name: "a time-out counted as a plain failure", breaks: "repeats what may have arrived, whatever the policy",
	law: "I14", edits: timeoutIsFailure, run: hangingProvider,
}, {
	bug: 11, name: "a cancel that is looked for before the start and not at it", breaks: "sends what its caller was told is cancelled",
	law: "I21", edits: cancelWithoutLook, run: cancels, quick: true,
}, {
	bug: 12, name: "that nobody is suppressed, remembered for a minute", breaks: "who opts out is sent to for a minute more",
	law: "I22", edits: nobodyForAMinute, run: optOuts,
}, {
	bug: 13, name: "off by one over the recipients of a message", breaks: "the last recipient of several is never told",
	law: "I1", edits: lastRecipientLost, run: manyRecipients,
}, {
	bug: 15, name: "counts written apart from what they count", breaks: "a crash leaves counts that are never right again",
	law: "I3", edits: countedLater, run: killsAndPhones,
}, {
	bug: 16, name: "leases by the clock of the process", breaks: "a process whose clock is behind sends on leases that have ended already",
	law: "I10", edits: leaseByOwnClock, run: clockBehind,
}, {
	bug: 18, name: "GetBody left set", breaks: "net/http posts once more by itself when an answer is lost",
	law: "I14", edits: bodyCanBeRead, run: lostAnswersWithKey,
}, {
	bug: 19, name: "redirects followed", breaks: "the 200 of a page counts as the provider's yes",
	law: "I12", edits: redirectsFollowed, run: redirectingProvider,
}, {
	bug: 20, name: "a report taken from an app that has lost the task", breaks: "what one phone sends, another one's late word has sent again",
	law: "I30", edits: reportOfAnybody, run: slowApp,
}, {
	bug: 22, name: "results written by the thousand, behind a long queue", breaks: "a crash doubles hundreds instead of what was under way",
	law: "I15", edits: resultsByTheThousand, run: kills,
}, {
	bug: 24, name: "answers that cannot be decoded count as success", breaks: "sent is said of what no provider confirmed",
	law: "I12", edits: rubbishIsSuccess, run: garbledAnswers,
}, {
	bug: 25, name: "COMMIT repeated on a new connection", breaks: "who is told 202 may find nothing stored",
	law: "I1", edits: commitRepeated, run: lostCommits,
}, {
	bug: 26, name: "a line that does not ask for its holder", breaks: "of one ordering key several are under way at once",
	law: "I24", edits: admitAtOnce, run: inLines,
}, {
	bug: 28, name: "a campaign's cursor moved when a segment is fetched", breaks: "who was fetched by a process that died is never told",
	law: "I26", edits: fetchedAreGone, run: campaignKills,
}, {
	bug: 29, name: "one result for all of a shared call", breaks: "who has left counts as told",
	law: "I12", edits: oneResultOfACall, run: sharedCalls,
}, {
	bug: 30, name: "a repair issues anew who is done", breaks: "who was sent to before its worker died is sent to again",
	law: "I26", edits: doneAreIssued, run: campaignKills,
}, {
	bug: 31, name: "a pin taken for that of all accounts", breaks: "what is pinned goes by any account",
	law: "I37", edits: pinForgotten, run: pinnedToThree,
}, {
	bug: 32, name: "repeats left to any account", breaks: "what may have arrived is repeated where nobody recognises it",
	law: "I37", edits: repeatedByAny, run: lostByThree,
}, {
	bug: 33, name: "a member's place in the map written before the send", breaks: "who was refused counts as told",
	law: "I26", edits: countedBefore, run: campaignRefused,
}, {
	bug: 34, name: "a segment claimed and written without asking whose it is", breaks: "two processes send to the same members",
	law: "I26", edits: segmentOfTwo, run: twoWorkers,
}, {
	bug: 35, name: "a receipt written to another campaign", breaks: "who was never sent to counts as delivered",
	law: "I26", edits: receiptOfAnother, run: twoCampaigns,
}, {
	bug: 36, name: "a doubt taken for a failure by a route", breaks: "who may have been told is told by the next step",
	law: "I38", edits: doubtIsFailure, run: routesInDoubt,
}, {
	bug: 37, name: "an acknowledgement that withdraws nothing", breaks: "who has taken note is called all the same",
	law: "I38", edits: nothingWithdrawn, run: acknowledged,
}, {
	bug: 38, name: "a success that its notification does not hear of", breaks: "who was told is waited for without end",
	law: "I38", edits: deafToSuccess, run: routesInDoubt,
}, {
	bug: 39, name: "a digest that does not write who has joined", breaks: "what was gathered is in no text, and waits for ever",
	law: "I39", edits: memberDropped, run: gathered,
}, {
	bug: 40, name: "one member alone shares the fate of a digest", breaks: "what has left in a text is said to wait",
	law: "I39", edits: fateOfTheFirst, run: gathered,
}, {
	bug: 41, name: "a later acknowledgement in the place of the first", breaks: "who has taken note is not who is said to have",
	law: "I40", edits: ackTakenOver, run: acknowledged,
}, {
	bug: 42, name: "an end that withdraws nothing", breaks: "who is to come next is told of what is over",
	law: "I38", edits: endedInName, run: resolved,
}}
