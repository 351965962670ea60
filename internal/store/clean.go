package store

import (
	"cmp"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Most deliveries take one course: accepted, claimed, sent at the first attempt. Such a delivery is clean, and costs four
// narrow writes: its message, whose row carries it (sole = 1), an entry of posthouse_due until it is claimed, a share of
// a row of posthouse_flights while it is under way, and a row of posthouse_sent, which keeps its history. The events follow
// from these rows (cleanread.go).
//
// Whatever takes another course is expanded first, in the transaction that finds so (expand.go): it gets the row of
// posthouse_queue or posthouse_settled and the events that it would have had from the beginning, and sole becomes 0. A clean
// delivery never comes back.

// cleanTable writes a message with all its columns, those of a sole delivery among them.
var cleanTable = sqldb.NewTable("posthouse_messages", append(messageColumns(),
	"user_id?", "address?", "recipient_type?", "account?", "idem_key?", "policy?", "epoch#?", "due_at#?", "sole#?")...)

var (
	dueTable    = sqldb.NewTable("posthouse_due", "tenant", "channel", "priority#", "due_at#", "id")
	flightTable = sqldb.NewTable("posthouse_flights", "id", "tenant", "channel", "priority#", "account?", "owner", "epoch#", "started_at#", "lease_until#", "ids")
	sentTable   = sqldb.NewTable("posthouse_sent", "id", "tenant", "channel", "at#", "started_at#", "lease_until#", "owner", "epoch#",
		"account?", "class?", "code?", "ref?", "request?", "response?")
)

// beginsClean reports whether an entry may be stored as a clean delivery.
func beginsClean(e *work.Entry) bool {
	if len(e.Deliveries) != 1 || e.Sealed != nil || optionsOf(&e.Message) != "" {
		return false
	}
	d := &e.Deliveries[0]
	return d.State == posthouse.Pending && !d.Pulled && !d.Pinned && d.Pool == "" && d.Deadline.IsZero() && d.ReplayOf == "" && d.Reason == "" && d.Error == "" &&
		d.Attempts == 0 && d.Tries == 0 && d.Token == 0 && d.ID == posthouse.DeliveryID(d.Message, 1) &&
		d.Channel == e.Message.Channel && d.Tenant == e.Message.Tenant && d.Priority == e.Message.Priority &&
		d.NotBefore.Equal(e.Message.NotBefore) && d.Message == e.Message.ID && d.CreatedAt.Equal(e.Message.CreatedAt)
}

// soleValues are the columns that a message has beside those of messageValues: empty but where it carries its delivery.
func soleValues(e *work.Entry, clean bool) []any {
	if !clean {
		return []any{"", "", "", "", "", "", int64(0), int64(0), int64(0)}
	}
	d := &e.Deliveries[0]
	idem := d.IdemKey
	if idem == d.ID {
		idem = ""
	}
	return []any{d.User, d.Address, d.Type, d.Account, idem, string(d.OnUnknown), d.Epoch, sqldb.Micros(d.DueAt), int64(1)}
}

func dueValues(d *posthouse.Delivery) []any {
	return []any{d.Tenant, d.Channel, sqldb.PriorityNumber(d.Priority), sqldb.Micros(d.DueAt), d.ID}
}

// scanClean reads the columns of cleanTable: a message and its delivery as it was accepted.
func scanClean(scan sqldb.Scanner) (*posthouse.Message, *posthouse.Delivery, error) {
	var d posthouse.Delivery
	var due, sole int64
	m, _, err := scanMessage(func(message ...any) error {
		return scan(append(message, &d.User, &d.Address, &d.Type, &d.Account, &d.IdemKey, &d.OnUnknown, &d.Epoch, &due, &sole)...)
	})
	if err != nil || m.ID == "" { // there is no such message
		return m, &d, err
	}
	accepted(m, &d, due)
	return m, &d, nil
}

// accepted fills in what follows of a clean delivery from its message and the rest of its columns.
func accepted(m *posthouse.Message, d *posthouse.Delivery, due int64) {
	d.ID, d.Message, d.Tenant, d.Channel, d.Priority = posthouse.DeliveryID(m.ID, 1), m.ID, m.Tenant, m.Channel, m.Priority
	if d.IdemKey == "" {
		d.IdemKey = d.ID
	}
	d.State, d.Version = posthouse.Pending, 1
	d.CreatedAt, d.UpdatedAt, d.DueAt, d.NotBefore = m.CreatedAt, m.CreatedAt, sqldb.TimeOf(due), m.NotBefore
}

// takeOff puts a clean delivery under way, as its claim does.
func takeOff(d *posthouse.Delivery, f *flight) {
	d.State, d.Version, d.Token, d.Attempts = posthouse.Sending, 2, 1, 1
	d.LeaseOwner, d.LeaseUntil, d.Epoch, d.Account = f.owner, sqldb.TimeOf(f.leaseUntil), f.epoch, cmp.Or(f.account, d.Account)
	d.StartedAt, d.FirstStartAt, d.UpdatedAt = sqldb.TimeOf(f.startedAt), sqldb.TimeOf(f.startedAt), sqldb.TimeOf(f.startedAt)
}

// landing is a row of posthouse_sent.
type landing struct {
	id, owner, account, class, code, ref, request, response string
	at, startedAt, leaseUntil, epoch                        int64
}

// land makes a clean delivery sent, as its result does.
func land(d *posthouse.Delivery, l *landing) {
	d.State, d.Version, d.Token, d.Attempts = posthouse.Sent, 3, 1, 1
	d.Account, d.Epoch, d.ProviderRef = l.account, l.epoch, l.ref
	d.FirstStartAt, d.UpdatedAt = sqldb.TimeOf(l.startedAt), sqldb.TimeOf(l.at)
}

func readLanding(scan sqldb.Scanner) (landing, error) {
	var l landing
	var tenant, channel string
	err := scan(&l.id, &tenant, &channel, &l.at, &l.startedAt, &l.leaseUntil, &l.owner, &l.epoch, &l.account, &l.class, &l.code, &l.ref, &l.request, &l.response)
	return l, err
}

// landingOf is the row of a result that leaves its delivery clean. It is not ok where the delivery took another course.
func landingOf(c *work.Change) (row []any, ok bool) {
	if len(c.Events) != 1 {
		return nil, false
	}
	a, b, e := &c.After, &c.Before, &c.Events[0]
	ok = e.Type == posthouse.EventSent && a.State == posthouse.Sent && b.Tries == 0 && a.Tries == 0 && b.ClaimLosses == 0 &&
		a.Reason == "" && a.Error == "" && e.Error == "" && e.Reason == "" && !a.Unconfirmed && !a.CancelRequested &&
		a.OnUnknown == b.OnUnknown && a.Attempts == 1 && e.Attempt == 1 && e.Token == 1 && e.Tries == 0 &&
		e.Owner == b.LeaseOwner && e.Ref == a.ProviderRef && e.Account == a.Account && a.Account == b.Account && e.Epoch == b.Epoch && a.Epoch == b.Epoch &&
		e.Due.IsZero() && e.LeaseUntil.IsZero() && a.DueAt.Equal(b.DueAt) && a.StartedAt.IsZero() && a.LeaseUntil.IsZero() &&
		a.LeaseOwner == "" && a.FirstStartAt.Equal(b.StartedAt)
	if !ok {
		return nil, false
	}
	return []any{
		a.ID, a.Tenant, a.Channel, sqldb.Micros(e.At), sqldb.Micros(b.StartedAt), sqldb.Micros(b.LeaseUntil), b.LeaseOwner, a.Epoch,
		a.Account, string(e.Class), e.Code, e.Ref, e.Request, e.Response,
	}, true
}

// flight is one claim of clean deliveries.
type flight struct {
	id, owner, account           string
	epoch, startedAt, leaseUntil int64             // times in microseconds
	left                         int               // how many have no result yet
	pinned                       map[string]string // delivery → the account it was accepted for, where it was for one
	shared                       bool              // some took another course: the rescuer deletes the row
	over                         bool              // its row goes with the last results
}

// flights are those of this process. They are what it remembers of its claims: what is not here is looked up.
type flights struct {
	mu    sync.Mutex
	of    map[string]*flight // delivery → its flight
	empty []string           // flights without deliveries, whose rows are still there
}

// add notes a claim.
func (f *flights) add(made *flight, items []work.Item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]*flight{}
	}
	made.left = len(items)
	for i := range items {
		f.of[items[i].Delivery.ID] = made
	}
	if len(f.of) > forgottenFlights {
		f.forget(time.Now().Add(-time.Hour).UnixMicro())
	}
}

// forgottenFlights is how many deliveries under way make the process look for those that nobody reported on.
const forgottenFlights = 100_000

func (f *flights) forget(before int64) {
	for id, known := range f.of {
		if known.leaseUntil < before {
			delete(f.of, id)
		}
	}
}

// find is the flight of a delivery that this process claimed and that is clean as far as it knows.
func (f *flights) find(d *posthouse.Delivery) *flight {
	if f == nil || d.State != posthouse.Sending || d.Version != 2 || d.Token != 1 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.of[d.ID]
}

// landed notes that deliveries have a result, which is committed. A flight that is over by it, and whose row is still there,
// is to be deleted.
func (f *flights) landed(changes []work.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range changes {
		id := changes[i].Before.ID
		known := f.of[id]
		if known == nil {
			continue
		}
		delete(f.of, id)
		if known.left--; known.left == 0 && !known.shared && !known.over {
			f.empty = append(f.empty, known.id)
		}
	}
}

// expanded forgets deliveries that are not clean any more, if their transaction commits. What is left of their flights is
// the rescuer's to delete, who looks.
func (f *flights) expanded(ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if known := f.of[id]; known != nil {
			delete(f.of, id)
			known.shared = true
		}
	}
}

// ends reports whether n results are the last of a flight, whose row goes with them.
func (f *flights) ends(known *flight, n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	known.over = known.left == n && !known.shared
	return known.over
}

// takeEmpty hands out the flights whose rows are to be deleted.
func (f *flights) takeEmpty() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.empty
	f.empty = nil
	return list
}

// startOf is the second event of a delivery that was clean when it was claimed; acceptEvent is the first.
func startOf(d *posthouse.Delivery, account string, startedAt, leaseUntil, epoch int64, owner string) posthouse.Event {
	return posthouse.Event{
		Delivery: d.ID, Message: d.Message, Version: 2, Tenant: d.Tenant, At: sqldb.TimeOf(startedAt), Type: posthouse.EventStart,
		From: posthouse.Pending, To: posthouse.Sending, Token: 1, Attempt: 1, Owner: owner,
		LeaseUntil: sqldb.TimeOf(leaseUntil), Due: d.DueAt, Epoch: epoch, Account: account,
	}
}

// sentOf is the third and last event of a clean delivery.
func sentOf(d *posthouse.Delivery, l *landing) posthouse.Event {
	return posthouse.Event{
		Delivery: d.ID, Message: d.Message, Version: 3, Tenant: d.Tenant, At: sqldb.TimeOf(l.at), Type: posthouse.EventSent,
		From: posthouse.Sending, To: posthouse.Sent, Token: 1, Attempt: 1, Owner: l.owner, Epoch: l.epoch, Account: l.account,
		Class: posthouse.Class(l.class), Code: l.code, Ref: l.ref, Request: l.request, Response: l.response,
	}
}
