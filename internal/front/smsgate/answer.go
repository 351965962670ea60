package smsgate

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/inbound"
)

// The original's states.
const (
	pending   = "Pending"
	processed = "Processed"
	sent      = "Sent"
	delivered = "Delivered"
	failed    = "Failed"
)

// device is what stands where the original names the phone.
const device = "posthouse"

// view is a message as clients are told of it.
type view struct {
	ID         string               `json:"id"`
	Device     string               `json:"deviceId"`
	State      string               `json:"state"`
	Hashed     bool                 `json:"isHashed"`
	Encrypted  bool                 `json:"isEncrypted"`
	Recipients []recipient          `json:"recipients"`
	States     map[string]time.Time `json:"states"`
}

type recipient struct {
	Number string `json:"phoneNumber"`
	State  string `json:"state"`
	Error  string `json:"error,omitempty"`
}

func answer(w http.ResponseWriter, r *inbound.Request, out inbound.Result) {
	switch {
	case out.Status == inbound.Unauthorized:
		refuse(w, out.Status, http.StatusText(http.StatusUnauthorized))
	case out.Status != inbound.Accepted:
		refuse(w, out.Status, out.Reason)
	case r.Found != nil:
		inbound.AnswerJSON(w, http.StatusOK, found(r))
	default:
		v := taken(r, out)
		w.Header().Set("Location", "messages/"+url.PathEscape(v.ID)) // below the address that was called, whatever is before it
		inbound.AnswerJSON(w, http.StatusAccepted, v)
	}
}

func refuse(w http.ResponseWriter, s inbound.Status, why string) {
	inbound.AnswerJSON(w, s.HTTP(), map[string]string{"message": why})
}

// taken is a message that was committed, now or when it came before.
func taken(r *inbound.Request, out inbound.Result) view {
	var b body
	_ = json.Unmarshal(r.Body, &b)  // it was read before
	numbers, _ := b.numbers(r)      // and its numbers too
	at := out.Accepted[0].CreatedAt // of what is accepted there is one
	v := view{ID: cmp.Or(b.ID, out.ID()), Device: device, State: pending, States: map[string]time.Time{pending: at.UTC()}}
	for _, n := range numbers {
		v.Recipients = append(v.Recipients, recipient{Number: n, State: pending})
	}
	return v
}

// found is a message that a client asks for, with how far it is. Where recipients of the front are reached is not told.
func found(r *inbound.Request) view {
	f := r.Found
	v := view{ID: cmp.Or(f.Message.Ref, f.Message.ID), Device: device, Recipients: []recipient{}, States: map[string]time.Time{pending: f.Message.CreatedAt.UTC()}}
	last := f.Message.CreatedAt
	for i := range f.Deliveries {
		d := &f.Deliveries[i]
		one := recipient{Number: d.Address, State: stateOf(d.State)}
		if len(r.Front.To) > 0 {
			one.Number = cmp.Or(d.User, r.Front.Name)
		}
		if one.State == failed {
			one.Error = cmp.Or(d.Error, d.Reason, string(d.State))
		}
		if d.UpdatedAt.After(last) {
			last = d.UpdatedAt
		}
		v.Recipients = append(v.Recipients, one)
	}
	for i := range f.Notifications {
		n := &f.Notifications[i]
		if n.UpdatedAt.After(last) {
			last = n.UpdatedAt
		}
		v.Recipients = append(v.Recipients, toldOf(r, n)...)
	}
	v.State = whole(v.Recipients)
	if v.State != pending {
		v.States[v.State] = last.UTC()
	}
	return v
}

// stateOf is how far a delivery is, in the original's words. Where nobody knows whether a phone sent it, the phone has it.
func stateOf(s posthouse.State) string {
	switch s {
	case posthouse.Pending:
		return pending
	case posthouse.Sending, posthouse.Unknown:
		return processed
	case posthouse.Sent:
		return sent
	case posthouse.Delivered:
		return delivered
	}
	return failed
}

// toldOf are the recipients of a notification with how far it is. One whose route names them has none to be told of.
func toldOf(r *inbound.Request, n *posthouse.Notification) (list []recipient) {
	one := recipient{Number: r.Front.Name, State: told(n)}
	if one.State == failed {
		one.Error = cmp.Or(n.Reason, string(n.State))
	}
	for _, to := range n.To {
		one.Number = to.Address
		if len(r.Front.To) > 0 {
			one.Number = cmp.Or(to.User, r.Front.Name)
		}
		list = append(list, one)
	}
	if len(n.To) == 0 {
		list = []recipient{one}
	}
	return list
}

// told is how far a notification is, in the original's words.
func told(n *posthouse.Notification) string {
	switch n.State {
	case posthouse.NotificationAcknowledged:
		return delivered
	case posthouse.NotificationNotTold:
		return failed
	case posthouse.NotificationWaiting:
		if len(n.Deliveries) == 0 {
			return pending
		}
		return processed
	}
	for _, d := range n.Deliveries {
		if d.ID == n.ToldBy {
			return stateOf(d.State)
		}
	}
	return sent
}

// whole is the state of a message: the first state that any recipient is still in, and failed where it is that of all.
func whole(list []recipient) string {
	has := map[string]bool{}
	for _, one := range list {
		has[one.State] = true
	}
	for _, s := range []string{pending, processed, sent, delivered, failed} {
		if has[s] {
			return s
		}
	}
	return pending
}
