package layout

import (
	"cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Clean writes a message with all its columns, those of a sole delivery among them.
var Clean = sqldb.NewTable("posthouse_messages", append(messageColumns(),
	"user_id?", "address?", "recipient_type?", "account?", "idem_key?", "policy?", "epoch#?", "due_at#?", "sole#?")...)

// Due has clean deliveries that wait.
var Due = sqldb.NewTable("posthouse_due", "tenant", "channel", "priority#", "due_at#", "id")

// Flights has clean deliveries that are under way, a claim a row.
var Flights = sqldb.NewTable("posthouse_flights", "id", "tenant", "channel", "priority#", "accounts?", "owner", "epoch#", "started_at#", "lease_until#", "ids")

var (
	// Sent has clean deliveries that were sent.
	Sent = sqldb.NewTable("posthouse_sent", "id", "tenant", "channel", "at#", "started_at#", "lease_until#", "owner", "epoch#",
		"account?", "class?", "code?", "ref?", "request?", "response?")
)

// SoleValues are the columns that a message has beside those of MessageValues: empty but where it carries its delivery.
func SoleValues(e *work.Entry, clean bool) []any {
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

// DueValues are the columns of Due.
func DueValues(d *posthouse.Delivery) []any {
	return []any{d.Tenant, d.Channel, sqldb.PriorityNumber(d.Priority), sqldb.Micros(d.DueAt), d.ID}
}

// ScanClean reads the columns of Clean: a message and its delivery as it was accepted.
func ScanClean(scan sqldb.Scanner) (*posthouse.Message, *posthouse.Delivery, error) {
	var d posthouse.Delivery
	var due, sole int64
	m, _, err := ScanMessage(func(message ...any) error {
		return scan(append(message, &d.User, &d.Address, &d.Type, &d.Account, &d.IdemKey, &d.OnUnknown, &d.Epoch, &due, &sole)...)
	})
	if err != nil || m.ID == "" { // there is no such message
		return m, &d, err
	}
	Accepted(m, &d, due)
	return m, &d, nil
}

// Accepted fills in what follows of a clean delivery from its message and the rest of its columns.
func Accepted(m *posthouse.Message, d *posthouse.Delivery, due int64) {
	d.ID, d.Message, d.Tenant, d.Channel, d.Priority = posthouse.DeliveryID(m.ID, 1), m.ID, m.Tenant, m.Channel, m.Priority
	if d.IdemKey == "" {
		d.IdemKey = d.ID
	}
	d.State, d.Version = posthouse.Pending, 1
	d.CreatedAt, d.UpdatedAt, d.DueAt, d.NotBefore = m.CreatedAt, m.CreatedAt, sqldb.TimeOf(due), m.NotBefore
}

// TakeOff puts a clean delivery under way, as its claim does.
func TakeOff(d *posthouse.Delivery, f *Flight) {
	d.State, d.Version, d.Token, d.Attempts = posthouse.Sending, 2, 1, 1
	d.LeaseOwner, d.LeaseUntil, d.Epoch, d.Account = f.Owner, sqldb.TimeOf(f.LeaseUntil), f.Epoch, cmp.Or(f.Account, d.Account)
	d.StartedAt, d.FirstStartAt, d.UpdatedAt = sqldb.TimeOf(f.StartedAt), sqldb.TimeOf(f.StartedAt), sqldb.TimeOf(f.StartedAt)
}

// Landing is a row of posthouse_sent.
type Landing struct {
	ID, Owner, Account, Class, Code, Ref, Request, Response string
	At, StartedAt, LeaseUntil, Epoch                        int64
}

// Land makes a clean delivery sent, as its result does.
func Land(d *posthouse.Delivery, l *Landing) {
	d.State, d.Version, d.Token, d.Attempts = posthouse.Sent, 3, 1, 1
	d.Account, d.Epoch, d.ProviderRef = l.Account, l.Epoch, l.Ref
	d.FirstStartAt, d.UpdatedAt = sqldb.TimeOf(l.StartedAt), sqldb.TimeOf(l.At)
}

// ReadLanding reads the columns of Sent.
func ReadLanding(scan sqldb.Scanner) (Landing, error) {
	var l Landing
	var tenant, channel string
	err := scan(&l.ID, &tenant, &channel, &l.At, &l.StartedAt, &l.LeaseUntil, &l.Owner, &l.Epoch, &l.Account, &l.Class, &l.Code, &l.Ref, &l.Request, &l.Response)
	return l, err
}

// AcceptEvent is the first event of a delivery.
func AcceptEvent(d *posthouse.Delivery) posthouse.Event {
	kind := posthouse.EventAccept
	if d.State == posthouse.Suppressed {
		kind = posthouse.EventSuppress
	}
	return posthouse.Event{
		Delivery: d.ID, Version: d.Version, Tenant: d.Tenant, At: d.CreatedAt, Type: kind, To: d.State,
		Reason: d.Reason, Due: d.DueAt, Epoch: d.Epoch, Account: d.Account, Owner: work.AcceptOwner(d),
	}
}

// StartOf is the second event of a delivery that was clean when it was claimed; AcceptEvent is the first.
func StartOf(d *posthouse.Delivery, account string, startedAt, leaseUntil, epoch int64, owner string) posthouse.Event {
	return posthouse.Event{
		Delivery: d.ID, Message: d.Message, Version: 2, Tenant: d.Tenant, At: sqldb.TimeOf(startedAt), Type: posthouse.EventStart,
		From: posthouse.Pending, To: posthouse.Sending, Token: 1, Attempt: 1, Owner: owner,
		LeaseUntil: sqldb.TimeOf(leaseUntil), Due: d.DueAt, Epoch: epoch, Account: account,
	}
}

// SentOf is the third and last event of a clean delivery.
func SentOf(d *posthouse.Delivery, l *Landing) posthouse.Event {
	return posthouse.Event{
		Delivery: d.ID, Message: d.Message, Version: 3, Tenant: d.Tenant, At: sqldb.TimeOf(l.At), Type: posthouse.EventSent,
		From: posthouse.Sending, To: posthouse.Sent, Token: 1, Attempt: 1, Owner: l.Owner, Epoch: l.Epoch, Account: l.Account,
		Class: posthouse.Class(l.Class), Code: l.Code, Ref: l.Ref, Request: l.Request, Response: l.Response,
	}
}

// Flight is one claim of clean deliveries as it is for one of them. Times are microseconds.
type Flight struct {
	ID, Owner, Account           string
	Epoch, StartedAt, LeaseUntil int64
}

// Flying is a row of posthouse_flights: a claim with its deliveries.
type Flying struct {
	Flight
	accounts  []string // of the deliveries, in their order; none where they go by the channel's one account
	IDs, Gone []string
}

// For is the flight as it is for its delivery at a place.
func (f *Flying) For(place int) *Flight {
	of := f.Flight
	if place < len(f.accounts) {
		of.Account = f.accounts[place]
	}
	return &of
}

// Accounts is what the row of a flight has of its deliveries' accounts. It may be longer than the list of the deliveries.
func Accounts(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return IDList(list)
}

// ReadFlying reads FlyingColumns.
func ReadFlying(scan sqldb.Scanner) (Flying, error) {
	var f Flying
	var accounts, ids, gone string
	err := scan(&f.ID, &accounts, &f.Owner, &f.Epoch, &f.StartedAt, &f.LeaseUntil, &ids, &gone)
	f.accounts, f.IDs, f.Gone = ReadList(accounts), ReadList(ids), ReadList(gone)
	return f, err
}

// FlyingColumns are those of a row of Flights with what has left it.
const FlyingColumns = "id, accounts, owner, epoch, started_at, lease_until, ids, gone"

// BeginsClean reports whether an entry may be stored as a clean delivery.
func BeginsClean(e *work.Entry) bool {
	if len(e.Deliveries) != 1 || e.Sealed != nil || optionsOf(&e.Message) != "" {
		return false
	}
	d := &e.Deliveries[0]
	return d.State == posthouse.Pending && !d.Pulled && !d.Pinned && d.Pool == "" && d.Line == "" && d.Deadline.IsZero() && d.ReplayOf == "" && d.Reason == "" && d.Error == "" &&
		d.Attempts == 0 && d.Tries == 0 && d.Token == 0 && d.ID == posthouse.DeliveryID(d.Message, 1) &&
		d.Channel == e.Message.Channel && d.Tenant == e.Message.Tenant && d.Priority == e.Message.Priority &&
		d.NotBefore.Equal(e.Message.NotBefore) && d.Message == e.Message.ID && d.CreatedAt.Equal(e.Message.CreatedAt)
}

// LandingOf is the row of a result that leaves its delivery clean. It is not ok where the delivery took another course.
func LandingOf(c *work.Change) (row []any, ok bool) {
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
