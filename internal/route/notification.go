package route

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// The words why a notification is in its state, or a step was passed over. Besides these, a notification that was not told has the
// state of the delivery that failed last as its reason.
const (
	ReasonNotDelivered    = "not_delivered"    // it was not proven in time that it arrived, or it did not even begin in its steps' time
	ReasonNotAcknowledged = "not_acknowledged" // it arrived, and was not acknowledged in time
	ReasonEscalated       = "escalated"        // a step told somebody else than the notification means
	ReasonNobody          = "nobody"           // no step addressed anybody
	ReasonCondition       = "condition"        // the condition of each step was false
	ReasonCancelled       = "cancelled"        // a person or a program ended it, or withdrew its last delivery
	ReasonResolved        = "resolved"         // its sender said that what it tells of is over, before it was proven that somebody was told
	ReasonForgotten       = "forgotten"        // the content of a sensitive message is forgotten, or cannot be opened
	ReasonExpired         = "expired"          // the message's deadline came before anybody was told
	ReasonTemplate        = "no_template"      // no step had a template to tell it with
	ReasonQuietHours      = state.ReasonQuietHours
	ReasonCapped          = state.ReasonCapped
	ReasonPreference      = state.ReasonPreference // its recipient wants no message of its kind, or none at all

	SkippedCondition  = "condition"   // its condition is false
	SkippedNobody     = "nobody"      // its roster is empty, nobody has its role, or the manager is not known
	SkippedRefused    = "refused"     // its messages cannot be accepted
	SkippedTemplate   = "no_template" // its template is not there, or is disabled, on all its channels
	SkippedPreference = "preference"  // its people want no message of its kind, or not by its channels
	SkippedCall       = "call"        // of an end: it would be told by a call

	// ReasonTold is of a delivery that was withdrawn since another step's has proven it.
	ReasonTold = "told"
	// ReasonStepOver is of a delivery that did not start within its step's time.
	ReasonStepOver = state.ReasonStepOver
)

// Resumed is when a person let go what an epoch held.
type Resumed struct {
	At    time.Time `json:"at"`
	Epoch int64     `json:"epoch"`
}

// notification is the document of a plan: what is shown of a notification, and what its steps are made of.
type notification struct {
	posthouse.Notification
	// Follows is the route as it was when the message was accepted.
	Follows posthouse.Route `json:"follows"`
	// Draft is what each step sends.
	Draft posthouse.Draft `json:"draft"`
	// MentionAll is whether its messages may call everybody.
	MentionAll bool `json:"mention_all,omitempty"`
	// BestEffort is as the request's.
	BestEffort bool `json:"best_effort,omitempty"`
	// StartBy is until when somebody has to be reached: what a reminder's slot has begun by then has no deadline. Defaults to that of Draft.
	StartBy time.Time `json:"start_by,omitzero"`
	// Over is when the time of its current step is over; zero for never.
	Over time.Time `json:"over,omitzero"`
	// Stepped is set once what had not started of that step was withdrawn since its time is over.
	Stepped bool `json:"stepped,omitempty"`
	// DedupKey keeps a second message with it from being told while this one waits, and for DedupWindow. Defaults to none.
	DedupKey    string             `json:"dedup_key,omitempty"`
	DedupWindow posthouse.Duration `json:"dedup_window,omitempty"`
	// QuietUntil is until when its next step waits for the end of quiet hours; zero for it does not. What holds it is no part of the document.
	QuietUntil time.Time `json:"held,omitzero"`
	// Meant are the users whom its steps named. Where the message has no recipients, their managers are asked for.
	Meant []string `json:"meant,omitempty"`
	// Managers are those who were found, by the user: they stay whoever they were when a step first turned to them.
	Managers map[string]string `json:"managers,omitempty"`
	// Roles are the users who had a role when a step first turned to it, by the role: they stay too.
	Roles map[string][]string `json:"roles,omitempty"`
	// Closed is set once a person or a program has ended it.
	Closed bool `json:"closed,omitempty"`
	// Resumed is when a person last let it go that was held, and in which epoch. Nil for never, or by a program that kept none.
	Resumed *Resumed `json:"resumed,omitempty"`
	// Things are what it tells of, in the first notification of a message.
	Things work.Things `json:"things,omitzero"`
	// ResolvedBy is the key of what said that it is over: what comes again with it is no news.
	ResolvedBy string `json:"resolved_by,omitempty"`
	// Ending is what whoever got something of it hears of the end.
	Ending *Ending `json:"ending,omitempty"`
	// Recorded is set where each of its decisions stands in the journal. A program that writes them only for followers drops it.
	Recorded bool `json:"recorded,omitempty"`

	tell   time.Time                        // when the planner is to tell of the end; zero for nobody is owed it now
	was    posthouse.NotificationState      // State as it was read
	chosen map[string]posthouse.Preferences // by the users of the step that is looked at
}

// dedupScope is where the dedup keys of a route's messages lie, beside those of channels: no name has a slash. The column has room for 128
// characters, which is the longest name.
func dedupScope(route string) string {
	if scope := "/" + route; len(scope) <= 128 {
		return scope
	}
	return fmt.Sprintf("/%x", sha256.Sum256([]byte(route)))
}

func read(p work.Plan) (notification, error) {
	var n notification
	if err := json.Unmarshal(p.Doc, &n); err != nil {
		return n, fmt.Errorf("the notification %s cannot be read: %w", p.ID, err)
	}
	n.ID, n.Message, n.Tenant, n.Version = p.ID, posthouse.MessageID(p.ID), p.Tenant, p.Version
	n.NextAt, n.CreatedAt, n.UpdatedAt = p.NextAt, p.CreatedAt, p.UpdatedAt
	n.Held, n.was = p.Held, posthouse.NotificationState(p.Was)
	if n.State != posthouse.NotificationWaiting { // no step begins
		n.tell, n.NextAt = p.NextAt, time.Time{}
	}
	return n, nil
}

// payload is what templates of its steps are filled with.
func (n *notification) payload() (map[string]any, error) {
	payload := map[string]any{}
	if len(n.Draft.Payload) == 0 {
		return payload, nil
	}
	if err := json.Unmarshal(n.Draft.Payload, &payload); err != nil {
		return nil, fmt.Errorf("the payload of a notification cannot be read: %w", err)
	}
	return payload, nil
}

// Read is the notification of a plan.
func Read(p work.Plan) (posthouse.Notification, error) {
	n, err := read(p)
	return n.Notification, err
}

// Stand is a notification as it is stored, with what its times are held against.
type Stand struct {
	posthouse.Notification
	Follows posthouse.Route
	// Begins is when its first step may begin, Over when the time of its step is over, QuietUntil until when quiet hours hold the next one.
	Begins, Over, QuietUntil, Deadline time.Time
	// Closed says that a person or a program has ended it, Recorded that each of its decisions stands in the journal.
	Sensitive, Closed, Recorded bool
	// Resumed is when a person last let it go that was held; zero for never.
	Resumed Resumed
}

// Standing is the notification of a plan with all that verify asks of it.
func Standing(p work.Plan) (Stand, error) {
	n, err := read(p)
	stand := Stand{n.Notification, n.Follows, later(n.CreatedAt, n.Draft.NotBefore), n.Over, n.QuietUntil, n.limit(), n.Draft.Sensitive, n.Closed, n.Recorded, Resumed{}}
	if n.Resumed != nil {
		stand.Resumed = *n.Resumed
	}
	return stand, err
}

// Followed is the notification of a plan, and the route that it follows.
func Followed(p work.Plan) (posthouse.Notification, posthouse.Route, error) {
	n, err := read(p)
	return n.Notification, n.Follows, err
}

// plan is a notification as it is stored, over the version that was read.
func (n *notification) plan() (work.Plan, error) {
	stored := *n
	if n.Draft.Sensitive { // it lies sealed beside
		stored.Draft.Content, stored.Draft.Payload = nil, nil
	}
	doc, err := json.Marshal(&stored)
	var frees *work.Freed
	if n.DedupKey != "" && n.State != posthouse.NotificationWaiting {
		frees = &work.Freed{Scope: dedupScope(n.Route), Key: n.DedupKey, Until: later(n.CreatedAt, n.ResolvedAt).Add(n.DedupWindow.Std())}
	}
	next, held := n.NextAt, n.Held
	if n.State != posthouse.NotificationWaiting {
		next = n.tell
	}
	if n.State != posthouse.NotificationWaiting && len(n.owes()) == 0 { // nothing new of it is left to hold
		held = ""
	}
	if held != "" {
		next = time.Time{}
	}
	return work.Plan{
		Tenant: n.Tenant, Type: work.PlanNotification, ID: n.ID, Kind: n.Draft.Kind, Ref: n.Draft.Ref, State: string(n.State),
		Doc: doc, Version: n.Version, Held: held, NextAt: next, CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt,
		Frees: frees, Was: string(n.was), Tells: n.tells(),
	}, err
}

// mostTold bounds the recipients that an event names.
const mostTold = 100

// tells is what those who follow the feed are told of a new state; nil where it is the one that was read.
func (n *notification) tells() *posthouse.FeedEvent {
	if n.was == "" || n.State == n.was {
		return nil
	}
	out := &posthouse.FeedEvent{Tenant: n.Tenant, Message: n.Message, Kind: n.Kind, Ref: n.Ref, Notification: &posthouse.NotificationEvent{
		ID: n.ID, From: n.was, State: n.State, Reason: n.Reason, Route: n.Route, RouteVersion: n.RouteVersion, Channels: n.channels(),
		To: n.To[:min(len(n.To), mostTold)], Recipients: len(n.To), Step: n.Step, Round: n.Round, ToldBy: n.ToldBy, ToldUser: n.ToldUser, ToldAt: n.ToldAt, CreatedAt: n.CreatedAt,
	}}
	if len(n.To) == 1 {
		out.User = n.To[0].User
	}
	if n.Ack != nil {
		out.Notification.Ack = &posthouse.Acknowledgement{By: n.Ack.By, Via: n.Ack.Via, At: n.Ack.At}
	}
	for i := range n.Deliveries {
		if d := &n.Deliveries[i]; d.ID == n.ToldBy {
			out.Channel = d.Channel
		}
	}
	return out
}

// channels are those that the steps of its route use, each once.
func (n *notification) channels() (names []string) {
	for i := range n.Follows.Steps {
		for _, name := range n.Follows.Steps[i].Channels {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// left reports whether a delivery waits since its recipient is left alone: for the end of quiet hours, or for room in a cap.
func left(d *posthouse.NotificationDelivery) bool { return leftAlone(d.State, d.Reason) }

func leftAlone(s posthouse.State, reason string) bool {
	return s == posthouse.Pending && (reason == ReasonQuietHours || reason == ReasonCapped)
}

// hear writes down how a delivery stands. It reports whether that is news.
func (n *notification) hear(d *posthouse.Delivery) bool {
	i := slices.IndexFunc(n.Deliveries, func(k posthouse.NotificationDelivery) bool { return k.ID == d.ID })
	if i < 0 { // a person repeats one that failed
		step, round := n.Step, n.Round
		for _, k := range n.Deliveries {
			if k.ID == d.ReplayOf {
				step, round = k.Step, k.Round
			}
		}
		n.Deliveries = append(n.Deliveries, posthouse.NotificationDelivery{ID: d.ID, Step: step, Round: round, Channel: d.Channel, User: cmp.Or(d.User, d.Address)})
		i = len(n.Deliveries) - 1
	}
	k := &n.Deliveries[i]
	before := *k
	k.State, k.Reason = d.State, d.Reason
	if d.State == posthouse.Sending { // who holds it is not told here
		k.State = posthouse.Pending
	}
	k.Doubtful = k.Doubtful || d.State == posthouse.Unknown
	if *k == before {
		return false
	}
	if left(&before) && !left(k) && k.Step == n.Step && k.Round == n.Round && !n.Over.IsZero() { // its time begins when it begins
		n.Over = later(n.Over, d.UpdatedAt.Add(n.step(n.Step).Within.Std())).Truncate(time.Microsecond)
	}
	if k.State != before.State || k.State.Open() { // what is heard of a recall says nothing of when it was sent
		k.At = d.UpdatedAt
	}
	return true
}
