package layout

import (
	"cmp"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

var deliveryColumns = []string{
	"id", "tenant", "channel", "account?", "pin?", "priority#", "user_id?", "address?", "recipient_type?",
	"state", "reason?", "last_error?", "version#", "token#?", "attempts#?", "tries#?", "claim_losses#?",
	"idem_key?", "on_unknown", "provider_ref?", "unconfirmed#?", "cancel_requested#?", "replay_of?", "notification?", "epoch#?",
	"created_at#", "updated_at#", "due_at#?", "not_before#?", "deadline#?",
	"started_at#?", "first_start_at#?", "lease_until#?", "lease_owner?",
}

var (
	// Queue has open deliveries, one a row.
	Queue = sqldb.NewTable("posthouse_queue", deliveryColumns...)
	// Settled has deliveries that ended, in the same columns.
	Settled = sqldb.NewTable("posthouse_settled", deliveryColumns...)
	// Events is the log of transitions.
	Events = sqldb.NewTable("posthouse_transitions",
		"delivery", "version#", "tenant", "at#", "type", "from_state?", "to_state", "token#?", "attempt#?", "owner?",
		"lease_until#?", "due_at#?", "reason?", "epoch#?", "account?", "tries#?", "class?", "code?", "error?", "ref?", "request?", "response?")
)

// mutable are the columns a transition may change; the others are written once.
var mutable = []string{
	"account", "pin", "priority#", "state", "reason", "last_error", "version#", "token#", "attempts#", "tries#", "claim_losses#",
	"provider_ref", "unconfirmed#", "cancel_requested#", "epoch#", "updated_at#", "due_at#",
	"started_at#", "first_start_at#", "lease_until#", "lease_owner",
}

func mutableValues(d *posthouse.Delivery) []any {
	return []any{
		d.Account, string(work.PinOf(d)), laneOf(d), string(d.State), d.Reason, d.Error, d.Version, d.Token, int64(d.Attempts), int64(d.Tries), int64(d.ClaimLosses),
		d.ProviderRef, sqldb.Flag(d.Unconfirmed), sqldb.Flag(d.CancelRequested), d.Epoch, sqldb.Micros(d.UpdatedAt), sqldb.Micros(d.DueAt),
		sqldb.Micros(d.StartedAt), sqldb.Micros(d.FirstStartAt), sqldb.Micros(d.LeaseUntil), d.LeaseOwner,
	}
}

// Mutable are the columns that a transition may change, for an update of any of the tables.
var Mutable = sqldb.NewTable("", mutable...)

// GuardOf is what a delivery's row must still be for its change to hold.
func GuardOf(d *posthouse.Delivery) sqldb.Guard {
	return sqldb.Guard{ID: d.ID, Version: d.Version, Token: d.Token, State: d.State}
}

// MutableRows are the values of changed deliveries for Mutable.
func MutableRows(after []*posthouse.Delivery) [][]any {
	rows := make([][]any, len(after))
	for i, d := range after {
		rows[i] = mutableValues(d)
	}
	return rows
}

// DeliveryValues are the columns of Queue and Settled.
func DeliveryValues(d *posthouse.Delivery) []any {
	return []any{
		d.ID, d.Tenant, d.Channel, d.Account, string(work.PinOf(d)), laneOf(d), d.User, d.Address, d.Type,
		string(d.State), d.Reason, d.Error, d.Version, d.Token, int64(d.Attempts), int64(d.Tries), int64(d.ClaimLosses),
		d.IdemKey, string(d.OnUnknown), d.ProviderRef, sqldb.Flag(d.Unconfirmed), sqldb.Flag(d.CancelRequested), d.ReplayOf, cmp.Or(d.Notification, d.Collection), d.Epoch,
		sqldb.Micros(d.CreatedAt), sqldb.Micros(d.UpdatedAt), sqldb.Micros(d.DueAt), sqldb.Micros(d.NotBefore), sqldb.Micros(d.Deadline),
		sqldb.Micros(d.StartedAt), sqldb.Micros(d.FirstStartAt), sqldb.Micros(d.LeaseUntil), d.LeaseOwner,
	}
}

// ScanDelivery reads the columns of deliveryColumns.
func ScanDelivery(scan func(...any) error) (*posthouse.Delivery, error) {
	var d posthouse.Delivery
	var lane, unconfirmed, cancel int64
	var pin work.Pin
	var at [8]int64
	err := scan(&d.ID, &d.Tenant, &d.Channel, &d.Account, &pin, &lane, &d.User, &d.Address, &d.Type,
		&d.State, &d.Reason, &d.Error, &d.Version, &d.Token, &d.Attempts, &d.Tries, &d.ClaimLosses,
		&d.IdemKey, &d.OnUnknown, &d.ProviderRef, &unconfirmed, &cancel, &d.ReplayOf, &d.Notification, &d.Epoch,
		&at[0], &at[1], &at[2], &at[3], &at[4], &at[5], &at[6], &at[7], &d.LeaseOwner)
	if err != nil {
		return nil, err
	}
	d.Message = posthouse.MessageID(d.ID)
	if d.Notification != "" && d.Notification == posthouse.MessageID(d.Notification) { // a notification has the id of a delivery
		d.Notification, d.Collection = "", d.Notification
	}
	d.Priority, d.Pulled, _ = ReadLane(lane)
	pin.Read(&d)
	d.Unconfirmed, d.CancelRequested = unconfirmed != 0, cancel != 0
	for i, p := range []*time.Time{
		&d.CreatedAt, &d.UpdatedAt, &d.DueAt, &d.NotBefore, &d.Deadline, &d.StartedAt, &d.FirstStartAt, &d.LeaseUntil,
	} {
		*p = sqldb.TimeOf(at[i])
	}
	return &d, nil
}

// EventValues are the columns of Events.
func EventValues(e *posthouse.Event) []any {
	return []any{
		e.Delivery, e.Version, e.Tenant, sqldb.Micros(e.At), string(e.Type), string(e.From), string(e.To), e.Token, int64(e.Attempt), e.Owner,
		sqldb.Micros(e.LeaseUntil), sqldb.Micros(e.Due), e.Reason, e.Epoch, e.Account, int64(e.Tries), string(e.Class), e.Code, e.Error, e.Ref, e.Request, e.Response,
	}
}

// ScanEvent reads the columns of Events.
func ScanEvent(scan func(...any) error) (posthouse.Event, error) {
	var e posthouse.Event
	var at, lease, due int64
	err := scan(&e.Delivery, &e.Version, &e.Tenant, &at, &e.Type, &e.From, &e.To, &e.Token, &e.Attempt, &e.Owner,
		&lease, &due, &e.Reason, &e.Epoch, &e.Account, &e.Tries, &e.Class, &e.Code, &e.Error, &e.Ref, &e.Request, &e.Response)
	e.At, e.LeaseUntil, e.Due = sqldb.TimeOf(at), sqldb.TimeOf(lease), sqldb.TimeOf(due)
	e.Message = posthouse.MessageID(e.Delivery)
	return e, err
}

// ReadDelivery reads the columns of Queue and Settled.
func ReadDelivery(scan sqldb.Scanner) (posthouse.Delivery, error) {
	d, err := ScanDelivery(scan)
	if err != nil {
		return posthouse.Delivery{}, err
	}
	return *d, nil
}

// ReadEvent is ScanEvent for lists.
func ReadEvent(scan sqldb.Scanner) (posthouse.Event, error) { return ScanEvent(scan) }
