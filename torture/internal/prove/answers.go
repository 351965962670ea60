package prove

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/callback"
	"github.com/posthouse/posthouse/internal/front/ack"
	"github.com/posthouse/posthouse/internal/route"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
)

// The laws of what people say about a notification.
const (
	lawOnce  = "an answer acknowledges at most one notification, once"
	lawOver  = "an acknowledged notification starts no further step"
	lawHeard = "an acknowledgement that was confirmed to the provider is stored"
)

// phoneNumber is where the messages of a scene with answers go: an answer by text message is known by it.
const phoneNumber = "+8613800138000"

// answerBy is how a person answers.
type answerBy string

// The ways.
const (
	byWord  answerBy = "a word by text message"
	byCode  answerBy = "the code by text message"
	byPress answerBy = "the press of a button"
)

// via is what the acknowledgement says of the way.
func (by answerBy) via() posthouse.AckVia {
	if by == byPress {
		return posthouse.AckCard
	}
	return posthouse.AckSMS
}

// answer is how far a scene's answer has come.
type answer struct {
	told      bool   // the provider has told it at least once
	kept      string // what is kept of which delivery it means: that after a sign, and the sign alone for none
	confirmed bool   // it was answered that this was taken
	meant     string // the notification that was meant when it was confirmed; empty for none
}

// hearing is an answer that a process was told of and has found a notification for. The acknowledgement is written by the next step, and
// confirmed by the one after.
type hearing struct {
	of           int // which answer
	notification string
	by           string
	via          posthouse.AckVia
	evidence     string
	written      bool
}

// answers is what providers tell of the scene's answers. The product's callback desk takes the call and its rules find what is meant; only
// where it would write the acknowledgement the call is cut, so that everything else may happen there.
func (m *model) answers(w *world, p int, add adder, write writer) {
	proc := &w.procs[p]
	switch h := proc.hears; {
	case h != nil && !h.written:
		write(name(p)+" writes the acknowledgement by "+string(m.scene.answers[h.of]), p, m.acknowledges, nil)
		return
	case h != nil:
		add(name(p)+" confirms "+string(m.scene.answers[h.of])+" to the provider", p, func(next *world) error {
			next.answers[h.of].confirm(h.notification)
			next.procs[p].hears = nil
			return nil
		})
		return
	}
	for i, by := range m.scene.answers {
		a := w.answers[i]
		if w.boxes[0].arrivals == 0 || a.confirmed && w.left.retells == 0 {
			continue
		}
		again := a.confirmed || w.heard(i)
		if again && w.left.retells == 0 {
			continue
		}
		words := "tells"
		if a.told {
			words = "tells again"
		}
		write(fmt.Sprintf("the provider %s %s at %s", words, by, name(p)), p, m.hear(i, a.kept), func(next *world) {
			own, meant := &next.procs[p], ""
			next.answers[i].kept, own.kept = own.kept, ""
			if again {
				next.left.retells--
			}
			if own.hears != nil {
				meant = own.hears.notification
			}
			if next.answers[i].told = true; own.status == http.StatusOK {
				next.answers[i].confirm(meant)
			}
			own.status = 0
		})
	}
}

func (a *answer) confirm(meant string) {
	a.confirmed = true
	if meant != "" {
		a.meant = meant
	}
}

// heard reports whether a process has an answer in hand.
func (w *world) heard(answer int) bool {
	for p := range w.procs {
		if h := w.procs[p].hears; h != nil && h.of == answer {
			return true
		}
	}
	return false
}

// hear has the product take the call by which a provider tells an answer, as far as the acknowledgement.
func (m *model) hear(i int, kept string) func(*process) error {
	return func(proc *process) error {
		keeps := &keeper{kept}
		took := &cutBook{Book: m.book()}
		links := &ack.Links{Sealer: plainly{}, PublicURL: "https://post.example", Book: took, Deliveries: m.db.Messages, Sent: m.db.Receipts, Meant: keeps, Log: slog.New(slog.DiscardHandler)}
		heard, err := m.told(links, m.scene.answers[i])
		if err != nil {
			return err
		}
		ch := &state.Channel{Key: state.Key{Tenant: tenant, Channel: chanel}, Opened: state.Opened{Driver: teller{heard}}}
		desk, err := callback.New(callback.Options{
			Addresses: hooks{}, Book: m.db.Receipts, Feed: deaf{}, Pressed: links.Pressed, Answered: links.Answered, Log: slog.New(slog.DiscardHandler),
			Channel: func(string, string) *state.Channel { return ch },
			Again:   func(context.Context, string, string, []string) error { return nil },
		})
		if err != nil {
			return err
		}
		req := httptest.NewRequestWithContext(m.ctx, http.MethodPost, callback.Path, http.NoBody)
		req.SetPathValue("address", callback.NewAddress())
		said := httptest.NewRecorder()
		desk.ServeHTTP(said, req)
		proc.kept = keeps.kept
		if proc.status, proc.hears = said.Code, took.hearing; proc.hears != nil {
			proc.hears.of = i
		}
		if proc.status != http.StatusOK && proc.hears == nil {
			return fmt.Errorf("the provider is answered with %d", proc.status)
		}
		return nil
	}
}

// told is what the driver hears of an answer.
func (m *model) told(links *ack.Links, by answerBy) (heard channel.Heard, err error) {
	notification := m.first[0]
	switch by {
	case byPress:
		key, err := links.Key(tenant, notification, "u0")
		e := channel.Event{Once: "press", CallbackEvent: posthouse.CallbackEvent{Event: "card.action.trigger", Address: "u0", Key: key, At: epoch0}}
		return channel.Heard{Events: []channel.Event{e}}, err
	case byCode:
		heard.Inbound = []channel.Inbound{{Way: channel.InboundSMS, Address: phoneNumber, Text: ack.Code(notification), ID: string(by), At: epoch0}}
	default:
		heard.Inbound = []channel.Inbound{{Way: channel.InboundSMS, Address: phoneNumber, Text: "1", ID: string(by), At: epoch0}}
	}
	return heard, nil
}

// acknowledges writes down what a process has heard.
func (m *model) acknowledges(proc *process) error {
	h := *proc.hears
	_, err := m.book().Acknowledge(m.ctx, work.Viewer{Tenant: tenant, Sight: work.SeeAll()}, h.notification, h.by, h.via, json.RawMessage(h.evidence))
	h.written = true
	proc.hears = &h
	return err
}

func (m *model) book() route.Book { return route.Book{Store: atBook{m.db.Plans}} }

// atBook puts the step's moment in the place of the real one.
type atBook struct{ store.Plans }

func (a atBook) Notification(ctx context.Context, _ time.Time, tenant, id string, decide func(work.Plan, time.Time) (work.Plan, work.Withdrawal, bool, error)) (work.Plan, error) {
	return a.Plans.Notification(ctx, epoch0, tenant, id, decide)
}

// cutBook keeps what would be written, and says that it was not.
type cutBook struct {
	ack.Book
	hearing *hearing
}

var errCut = errors.New("the process stands still before it writes")

func (b *cutBook) Acknowledge(_ context.Context, _ work.Viewer, id, by string, via posthouse.AckVia, evidence json.RawMessage) (posthouse.Notification, error) {
	b.hearing = &hearing{notification: id, by: by, via: via, evidence: string(evidence)}
	return posthouse.Notification{}, errCut
}

// keeper keeps what an answer means as the store does, of which the first stays: beside the tables, since the store's moments are real ones.
type keeper struct{ kept string }

func (k *keeper) Answer(context.Context, string, string, string, string) ([]byte, bool, error) {
	delivery, kept := strings.CutPrefix(k.kept, ">")
	return []byte(delivery), kept, nil
}

func (k *keeper) KeepAnswer(_ context.Context, _, _, _, _ string, delivery []byte) ([]byte, error) {
	k.kept = cmp.Or(k.kept, ">"+string(delivery))
	return []byte(k.kept[1:]), nil
}

// teller is a driver whose provider tells one thing.
type teller struct{ heard channel.Heard }

func (teller) Send(context.Context, channel.Outgoing) channel.Result { return channel.Result{} }

func (t teller) Receive(channel.Callback) (channel.Heard, error) { return t.heard, nil }

// hooks know every address.
type hooks struct{}

func (hooks) Callback(_ context.Context, address string) (work.CallbackAddress, error) {
	return work.CallbackAddress{Address: address, Tenant: tenant, Channel: chanel}, nil
}

// deaf is a feed without followers.
type deaf struct{}

func (deaf) Tell(context.Context, time.Time, []work.Told) (int, error) { return 0, nil }

// plainly seals by writing down what for, in the form of a keyring and always alike.
type plainly struct{}

const plainlyMark = "enc:v1:plainly:"

func (plainly) Seal(plain, aad string) (string, error) {
	return plainlyMark + base64.RawStdEncoding.EncodeToString([]byte(aad+"|"+plain)), nil
}

func (plainly) Open(text, aad string) (string, error) {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimPrefix(text, plainlyMark))
	if plain, ok := strings.CutPrefix(string(raw), aad+"|"); ok && err == nil {
		return plain, nil
	}
	return "", posthouse.Errorf(posthouse.CodeInvalid, "it was sealed for something else")
}

// judgeAnswers asks the laws of what people say.
func (m *model) judgeAnswers(before, after *world, was, is map[string]stand) *violation {
	if !m.scene.routed() {
		return nil
	}
	acks, said := map[posthouse.AckVia]int{}, map[string]bool{}
	for _, p := range m.notices(after) {
		n, err := route.Read(p)
		if err != nil {
			return broken(lawHears, "%v", err)
		}
		old, err := route.Read(m.notice(before, p.ID))
		if err != nil {
			return broken(lawHears, "%v", err)
		}
		if n.Ack != nil {
			acks[n.Ack.Via]++
			said[n.ID] = true
		}
		if old.Ack == nil {
			continue
		}
		if n.Ack == nil || n.Ack.Via != old.Ack.Via || n.Ack.By != old.Ack.By {
			return broken(lawOnce, "it was acknowledged by %s, and then by %+v", old.Ack.Via, n.Ack)
		}
		for i, d := range n.Deliveries {
			if i >= len(old.Deliveries) || was[d.ID].token < is[d.ID].token {
				return broken(lawOver, "it is acknowledged, and %s begins", m.short(d.ID))
			}
		}
	}
	for i, by := range m.scene.answers {
		a := after.answers[i]
		if n := acks[by.via()]; n > 1 {
			return broken(lawOnce, "%s has acknowledged %d notifications", by, n)
		}
		if a.confirmed && a.meant == "" && by != byWord {
			a.meant = m.first[0] // it names the notification
		}
		if a.confirmed && a.meant != "" && !said[a.meant] {
			return broken(lawHeard, "%s was confirmed, and the notification is not acknowledged", by)
		}
	}
	return nil
}

// unheard reports whether an answer that was told waits to be told again, or to be confirmed.
func (w *world) unheard() bool {
	for i, a := range w.answers {
		if a.told && !a.confirmed || w.heard(i) {
			return true
		}
	}
	return false
}
