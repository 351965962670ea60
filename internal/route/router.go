package route

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/expression"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Intake judges what a step would send, and says who is meant by a roster or a role.
type Intake interface {
	Accept(ctx context.Context, req intake.Request) (intake.Answer, error)
	People(ctx context.Context, tenant string, to []posthouse.Recipient, now time.Time) (people []posthouse.Recipient, missing []posthouse.Problem, err error)
}

// Routes are the stored routes; version 0 is the latest.
type Routes interface {
	Route(ctx context.Context, tenant, name string, version int) (posthouse.Route, error)
}

// Directory knows the addresses of users on a channel, by user; one that has none is missing. It knows users by their ids, too.
type Directory interface {
	Addresses(ctx context.Context, tenant, channel string, users []string) (map[string]string, error)
	Profiles(ctx context.Context, tenant string, users []string) (map[string]posthouse.User, error)
	// RolesOf are the roles that users have, by user; one without any is missing.
	RolesOf(ctx context.Context, tenant string, users []string) (map[string][]string, error)
}

// Plans find and change stored notifications.
type Plans interface {
	Notifications(ctx context.Context, tenant, message, cursor string, limit int) (list []work.Plan, next string, err error)
	Notification(ctx context.Context, now time.Time, tenant, id string, decide func(p work.Plan, now time.Time) (next work.Plan, withdraw work.Withdrawal, write bool, err error)) (work.Plan, error)
}

// Choices are what users of the directory have chosen.
type Choices interface {
	// For is what holds of that for messages of a kind, by user; one who has chosen nothing is missing.
	For(ctx context.Context, tenant, kind string, critical bool, users []string) (map[string]posthouse.Preferences, error)
}

// Contents open what is sealed of sensitive messages. One that cannot be opened is left unreadable.
type Contents interface {
	Unseal(ctx context.Context, items []work.Item) error
}

// Foresight says what would become of deliveries that are not stored, by what is asked when they begin. What it lets begin counts for what it is
// asked about later.
type Foresight interface {
	// Claimed is a delivery as claims from a time on would leave it: due when it would begin, or ended before it begins.
	Claimed(ctx context.Context, item work.Item, at time.Time) (posthouse.Delivery, error)
	// Failed is told of a delivery whose failure begins the next step: what it took comes back, as far as it does.
	Failed(delivery string)
}

// Router begins notifications and their steps. All fields but those that name a default are required.
type Router struct {
	Intake    Intake
	Routes    Routes
	Directory Directory
	Plans     Plans
	Contents  Contents
	Log       *slog.Logger
	// Link makes the address at which somebody acknowledges a notification. Defaults to none.
	Link func(tenant, notification, user string) (string, error)
	// Key makes what the button of a card tells back when somebody acknowledges by it. Defaults to none.
	Key func(tenant, notification, user string) (string, error)
	// Code makes what tells a notification from others of its person, where somebody acknowledges by text message. Defaults to none.
	Code func(notification string) string
	// PreferencesLink makes the address at which a user chooses which messages to get, empty for one who is no user. Defaults to none.
	PreferencesLink func(tenant, kind string, of posthouse.Preferences) (string, error)
	// Quiet says until when a person is to be left alone on a channel, zero for not. Defaults to never.
	Quiet func(ctx context.Context, tenant, channel, kind string, to posthouse.Recipient, deadline, now time.Time) (time.Time, error)
	// Foresee begins to look at what a preview would send. Defaults to nothing: all of it begins at once.
	Foresee func() Foresight
	// Choices say what people want of messages. Defaults to everything.
	Choices Choices
	// Receipts reports whether a delivery by a channel is ever delivered, and more than sent; known is false for a channel that there is
	// not. Defaults to none that is known.
	Receipts func(tenant, channel string) (come, known bool)
	// Answers reports whether people can answer what a channel sends them, so that an answer acknowledges; known is false for a channel that
	// there is not. Defaults to none that is known.
	Answers func(tenant, channel string) (come, known bool)
	// Calls reports whether what a channel sends is a call, which nobody gets for what is over. Defaults to never.
	Calls func(tenant, channel string) bool
	// Location is the zone of hour and weekday in conditions about those who have no zone of their own. Defaults to UTC.
	Location *time.Location
	// Calendar reports whether there is a calendar of a name, and DayOff whether a day is one off by it; without a name, by weekends. Where
	// DayOff is nil, weekends are off.
	Calendar func(ctx context.Context, tenant, name string) (bool, error)
	DayOff   func(ctx context.Context, tenant, name string, day time.Time) (bool, error)
	// Template is the latest version of a template. Defaults to none: those that a route names are not looked at when it is stored.
	Template func(ctx context.Context, tenant, name string) (posthouse.Template, error)
	// Language is that of the text that a user gets of a template. Defaults to none.
	Language func(ctx context.Context, t posthouse.Template, user string) (string, error)
	// NewID makes the ids of messages. Defaults to posthouse.NewID.
	NewID func() string
}

// Compose is intake.Composer's: it begins the next step of a notification, or ends it after the last. Of a step whose time is over, what
// has not started is withdrawn first.
func (r *Router) Compose(ctx context.Context, p work.Plan, now time.Time) ([]posthouse.Draft, work.Plan, error) {
	n, err := read(p)
	if err != nil {
		return nil, p, err
	}
	if n.Held != "" { // a program from before the hold has given it a moment
		next, err := n.plan()
		return nil, next, err
	}
	if n.State != posthouse.NotificationWaiting {
		drafts, err := r.tellEnd(ctx, &n, now)
		if err != nil {
			return nil, p, err
		}
		next, err := n.plan()
		return drafts, next, err
	}
	if len(n.late(now)) > 0 {
		return nil, p, r.stepOver(ctx, p)
	}
	if at := n.next(now); n.Step > 0 && !at.Equal(now) { // something was heard since it was read
		n.NextAt = at
		next, err := n.plan()
		return nil, next, err
	}
	var drafts []posthouse.Draft
	late := !n.limit().IsZero() && !n.limit().After(now)
	why := ""
	if n.Draft.Sensitive && !late {
		if why, err = r.unseal(ctx, &n, now); err != nil {
			return nil, p, err
		}
		late = why != ""
	}
	begun := n.Follows.Kind == posthouse.RouteAll && n.Step > 0
	for !late && !begun && n.follow() {
		wait, err := r.quiet(ctx, &n, now)
		if err != nil {
			return nil, p, err
		}
		if !wait.IsZero() {
			if state.QuietBeyond(&posthouse.Delivery{Deadline: n.limit()}, wait) == "" {
				return putOff(p, wait)
			}
			late, why = true, ReasonQuietHours
			if wait.Equal(quiet.Never) { // nothing else shows why it ended
				n.QuietUntil = wait
			}
			break
		}
		sent, unwanted, err := r.begin(ctx, &n, now)
		if err != nil {
			return nil, p, err
		}
		if unwanted {
			late, why = true, ReasonPreference
			break
		}
		drafts = append(drafts, sent...)
		if len(sent) > 0 && n.Follows.Kind == posthouse.RouteFirst {
			break
		}
	}
	if len(drafts) == 0 {
		n.State, n.Reason, n.NextAt = posthouse.NotificationNotTold, n.ended(), time.Time{}
		if other := n.instead(); other != nil {
			n.toldBy(posthouse.NotificationNotTold, ReasonEscalated, other)
		} else if late {
			n.Reason = cmp.Or(why, ReasonExpired)
		}
	}
	next, err := n.plan()
	return drafts, next, err
}

// unseal puts the content of a sensitive message into what its steps send, until it is stored again. Where that cannot be, why says so.
func (r *Router) unseal(ctx context.Context, n *notification, now time.Time) (why string, err error) {
	left := n.Draft.Deadline.Sub(now)
	if left < time.Second {
		return ReasonExpired, nil
	}
	n.Draft.ForgetAfter = posthouse.Duration(left)
	sealed := []work.Item{{Message: &posthouse.Message{ID: n.Message, Tenant: n.Tenant, Sensitive: true}}}
	if err := r.Contents.Unseal(ctx, sealed); err != nil {
		return "", err
	}
	m := sealed[0].Message
	if m.Unreadable != "" {
		r.Log.Error("a notification goes no further", "tenant", n.Tenant, "notification", n.ID, "why", m.Unreadable)
		return ReasonForgotten, nil
	}
	if n.Draft.Payload = m.Payload; !reflect.ValueOf(m.Content).IsZero() {
		n.Draft.Content = &m.Content
	}
	return "", nil
}

// stepOver withdraws what has not started of a step whose time is over. What is under way is not started again.
func (r *Router) stepOver(ctx context.Context, p work.Plan) error {
	_, err := r.Plans.Notification(ctx, time.Now(), p.Tenant, p.ID, func(p work.Plan, now time.Time) (work.Plan, work.Withdrawal, bool, error) {
		n, err := read(p)
		if err != nil {
			return p, work.Withdrawal{}, false, err
		}
		ids := n.late(now)
		if len(ids) == 0 {
			return p, work.Withdrawal{}, false, nil
		}
		n.Stepped = true
		n.NextAt = n.next(now)
		next, err := n.plan()
		return next, work.Withdrawal{IDs: ids, Reason: ReasonStepOver}, true, err
	})
	if err != nil {
		return err
	}
	return posthouse.Errorf(posthouse.CodeConflict, "what had not started of the step was withdrawn: look again")
}

// quiet is until when nobody of the step that a notification is at is to be told, zero where somebody is. A person is left alone as soon as one
// of the channels on which the step would tell them has quiet hours, so that no other channel goes around these.
func (r *Router) quiet(ctx context.Context, n *notification, now time.Time) (first time.Time, err error) {
	if r.Quiet == nil || n.Draft.Critical {
		return first, nil
	}
	judged := *n // the step that follows finds its people itself
	drafts, _, err := r.drafts(ctx, &judged, now, true)
	if err != nil {
		return first, err
	}
	ends := map[posthouse.Recipient]time.Time{}
	for i := range drafts {
		to := drafts[i].To[0]
		end, err := r.Quiet(ctx, n.Tenant, drafts[i].Channel, n.Draft.Kind, to, n.limit(), now)
		if err != nil {
			return first, err
		}
		ends[to] = later(ends[to], end)
	}
	for _, end := range ends {
		if end.IsZero() {
			return time.Time{}, nil
		}
		if first.IsZero() || end.Before(first) {
			first = end
		}
	}
	return first, nil
}

// putOff has a notification wait at the step before: the next one is looked at again at a time.
func putOff(p work.Plan, until time.Time) ([]posthouse.Draft, work.Plan, error) {
	before, err := read(p)
	if err != nil {
		return nil, p, err
	}
	before.NextAt = until.Truncate(time.Microsecond)
	before.QuietUntil, before.Reason = before.NextAt, ReasonQuietHours
	next, err := before.plan()
	return nil, next, err
}

// begin begins the step that a notification is at: it writes down what is sent, or why nothing is. unwanted is set where none of the step's people
// wants messages of its kind: no other step goes around that.
func (r *Router) begin(ctx context.Context, n *notification, now time.Time) (sends []posthouse.Draft, unwanted bool, err error) {
	s := n.step(n.Step)
	log := posthouse.NotificationStep{Step: n.Step, Round: n.Round, At: now}
	drafts, skipped, err := r.drafts(ctx, n, now, true)
	if err != nil {
		return nil, false, err
	}
	log.Skipped, log.Detail = skipped.why, skipped.detail
	if skipped.broken != nil {
		r.Log.Warn("the condition of a route's step fails: the step is taken", "tenant", n.Tenant, "notification", n.ID, "step", n.Step, "error", skipped.broken)
	}
	var good []posthouse.Draft
	for i := range drafts {
		d := &drafts[i]
		_, note, err := r.rehearse(ctx, intake.Request{Tenant: n.Tenant, Caller: work.Caller{Sight: work.SeeAll(), MentionAll: n.MentionAll, Critical: n.Draft.Critical}}, n, d)
		_, invalid := problemsOf(err)
		if err != nil && !invalid {
			return nil, false, err
		}
		if invalid {
			note = d.Channel + ": " + err.Error()
		}
		if note != "" {
			log.Detail = strings.TrimPrefix(log.Detail+"; "+note, "; ")
		}
		if invalid {
			continue
		}
		good = append(good, *d)
		n.Deliveries = append(n.Deliveries, posthouse.NotificationDelivery{
			ID: posthouse.DeliveryID(d.ID, 1), Step: n.Step, Round: n.Round, Channel: d.Channel, User: cmp.Or(d.To[0].User, d.To[0].Address), State: posthouse.Pending, At: now,
		})
	}
	if log.Skipped == "" && len(good) == 0 {
		log.Skipped = SkippedRefused
	}
	if log.Detail = state.Plain(log.Detail, 1000); n.Draft.Sensitive && log.Detail != "" {
		log.Detail = "what was wrong is not written down: it may quote a sensitive message"
	}
	n.Steps = append(n.Steps, log)
	if len(good) == 0 {
		if log.Skipped != SkippedCondition {
			r.Log.Warn("a step of a route is passed over", "tenant", n.Tenant, "notification", n.ID, "route", n.Route, "step", n.Step, "why", log.Skipped, "detail", log.Detail)
		}
		return nil, skipped.ends, nil
	}
	var over time.Time
	if s.Within > 0 {
		over = now.Add(s.Within.Std()).Truncate(time.Microsecond) // as the databases keep it
	}
	if n.Follows.Kind == posthouse.RouteAll { // the longest of all
		over = later(n.Over, over)
	}
	n.Over, n.NextAt, n.Stepped = over, over, false
	if n.Follows.Kind == posthouse.RouteFirst {
		for i := range good {
			good[i].StepUntil = over
		}
	}
	n.QuietUntil, n.Reason = time.Time{}, ""
	return good, false, nil
}

// passed is why a step sends nothing.
type passed struct {
	why, detail string
	ends        bool   // none of the step's people wants messages of its kind
	broken      error  // why its condition could not be judged of one of them: that one is told
	gone        []lack // the channels on which it has nothing to say now
}

// drafts are what the current step of a notification sends: a message for each person and channel. Where decide is not set, its condition is
// not asked.
func (r *Router) drafts(ctx context.Context, n *notification, now time.Time, decide bool) ([]posthouse.Draft, passed, error) {
	s := n.step(n.Step)
	people, skipped := n.To, passed{}
	if len(s.To) > 0 {
		found, missing, err := r.people(ctx, n, s, now)
		if err != nil {
			return nil, skipped, err
		}
		skipped.detail = strings.Join(missing, "; ")
		if people = found; len(people) == 0 {
			skipped.why = SkippedNobody
			return nil, skipped, nil
		}
	}
	payload, err := n.payload()
	if err != nil {
		return nil, skipped, err
	}
	if !n.BestEffort || n.Draft.Content == nil { // else its own text is told: see rehearse
		if skipped.gone, err = r.lacking(ctx, n.Tenant, s); err != nil {
			return nil, skipped, err
		}
	}
	for _, l := range skipped.gone {
		skipped.detail = strings.TrimPrefix(skipped.detail+"; "+l.detail(), "; ")
	}
	if n.chosen, err = r.chosen(ctx, n, people, decide); err != nil {
		return nil, skipped, err
	}
	var profiles map[string]posthouse.User
	if decide && s.When != "" {
		if profiles, err = r.profiles(ctx, n, s.When, people); err != nil {
			return nil, skipped, err
		}
	}
	var drafts []posthouse.Draft
	asked, refused, untold := 0, 0, false
	for _, to := range distinct(people) {
		if decide && s.When != "" {
			person := profiles[to.User]
			at := now.In(r.zoneOf(&person))
			workday, err := r.workday(ctx, n, s.When, at)
			if err != nil {
				return nil, skipped, err
			}
			holds, err := holds(s.When, &n.Draft, to, &person, payload, at, workday)
			if err != nil { // a step that cannot be judged is taken: rather told than not
				skipped.broken = err
				if said := err.Error() + ": the step is taken"; !strings.Contains(skipped.detail, said) {
					skipped.detail = strings.TrimPrefix(skipped.detail+"; "+said, "; ")
				}
			} else if !holds {
				skipped.why = SkippedCondition
				continue
			}
		}
		asked++
		wants := n.chosen[to.User]
		names, left := wantedOf(&wants, n.Draft.Kind, s.Channels)
		if left != "" {
			skipped.why, skipped.detail = SkippedPreference, strings.TrimPrefix(skipped.detail+"; "+to.User+" "+left, "; ")
		}
		if wants.RefuseKind(n.Draft.Kind) {
			refused++
		}
		wanted := len(names)
		names = slices.DeleteFunc(names, skipped.lacks)
		untold = untold || len(names) == 0 && wanted > 0
		names, err := r.channels(ctx, n.Tenant, s.Own, names, to)
		if err != nil {
			return nil, skipped, err
		}
		for _, name := range names {
			d, err := r.draft(n, s, to, name, payload)
			if err != nil {
				return nil, skipped, err
			}
			drafts = append(drafts, d)
		}
	}
	switch {
	case len(drafts) > 0:
		skipped.why = ""
	case untold:
		skipped.why = SkippedTemplate
	case skipped.why == "":
		skipped.why, skipped.detail = SkippedNobody, "no address is known on any of its channels"
	}
	skipped.ends = refused > 0 && refused == asked
	return drafts, skipped, nil
}

// profiles are what a condition may ask about people, by user: what the directory knows, and where it asks for roles, these. Of a role whose
// people the notification has kept, it is these and nobody else.
func (r *Router) profiles(ctx context.Context, n *notification, when string, people []posthouse.Recipient) (map[string]posthouse.User, error) {
	users := usersOf(people)
	if len(users) == 0 {
		return nil, nil
	}
	profiles, err := r.Directory.Profiles(ctx, n.Tenant, users)
	if err != nil || !slices.Contains(expression.Names(when), "roles") {
		return profiles, err
	}
	known, err := r.Directory.RolesOf(ctx, n.Tenant, users)
	if err != nil {
		return nil, err
	}
	asked := map[string]posthouse.User{}
	for _, id := range users {
		person := profiles[id]
		person.Roles = slices.DeleteFunc(slices.Clone(known[id]), func(role string) bool { return len(n.Roles[role]) > 0 })
		for role, kept := range n.Roles {
			if slices.Contains(kept, id) {
				person.Roles = append(person.Roles, role)
			}
		}
		slices.Sort(person.Roles)
		asked[id] = person
	}
	return asked, nil
}

// usersOf are the ids of those who have one.
func usersOf(people []posthouse.Recipient) (users []string) {
	for _, to := range people {
		if to.User != "" {
			users = append(users, to.User)
		}
	}
	return users
}

// workday reports whether a day is a workday by the calendar of a notification's route, where a condition asks for it.
func (r *Router) workday(ctx context.Context, n *notification, when string, day time.Time) (bool, error) {
	if !slices.Contains(expression.Names(when), "workday") {
		return false, nil
	}
	if r.DayOff == nil {
		return !quiet.Weekends(day), nil
	}
	off, err := r.DayOff(ctx, n.Tenant, n.Follows.Calendar, day)
	return !off, err
}

// zoneOf is where a person lives.
func (r *Router) zoneOf(person *posthouse.User) *time.Location {
	if zone, err := time.LoadLocation(person.TimeZone); err == nil && person.TimeZone != "" {
		return zone
	}
	return cmp.Or(r.Location, time.UTC)
}

// chosen is what the people of a step have chosen, by user. Where a step is judged alone, nobody has.
func (r *Router) chosen(ctx context.Context, n *notification, people []posthouse.Recipient, decide bool) (map[string]posthouse.Preferences, error) {
	if r.Choices == nil || !decide {
		return nil, nil
	}
	return r.Choices.For(ctx, n.Tenant, n.Draft.Kind, n.Draft.Critical, usersOf(people))
}

// wantedOf are the channels by which a person wants messages of a kind, those that the person prefers first. left says which are left out.
func wantedOf(p *posthouse.Preferences, kind string, channels []string) (names []string, left string) {
	if p.RefuseKind(kind) {
		return nil, "does not want it"
	}
	var not []string
	for _, name := range slices.Concat(p.Prefer, channels) {
		switch {
		case !slices.Contains(channels, name) || slices.Contains(names, name) || slices.Contains(not, name):
		case p.RefuseChannel(kind, name):
			not = append(not, name)
		default:
			names = append(names, name)
		}
	}
	if len(not) > 0 {
		left = "does not want it by " + strings.Join(not, ", ")
	}
	return names, left
}

// channels are those on which a step tells somebody: all that are left, or where it takes one of each person's own, the first with an address.
func (r *Router) channels(ctx context.Context, tenant string, own bool, names []string, to posthouse.Recipient) ([]string, error) {
	if !own {
		return names, nil
	}
	for _, name := range names {
		found, err := r.Directory.Addresses(ctx, tenant, name, []string{to.User})
		if err != nil {
			return nil, err
		}
		if found[to.User] != "" {
			return []string{name}, nil
		}
	}
	return nil, nil
}

// draft is what somebody is sent on a channel by the current step.
func (r *Router) draft(n *notification, s *posthouse.RouteStep, to posthouse.Recipient, channel string, payload map[string]any) (posthouse.Draft, error) {
	d := n.Draft
	newID := r.NewID
	if newID == nil {
		newID = posthouse.NewID
	}
	d.ID, d.Channel, d.To = newID(), channel, []posthouse.Recipient{to}
	d.NotBefore, d.Deadline = time.Time{}, n.limit()
	d.Notification, d.Step, d.FallbackOf = n.ID, n.Step, n.before(cmp.Or(to.User, to.Address))
	if own := s.TemplateOn(channel); own != "" {
		d.Template, d.Content = own, nil
	}
	link := ""
	if r.Link != nil {
		var err error
		if link, err = r.Link(n.Tenant, n.ID, cmp.Or(to.User, to.Address)); err != nil {
			return d, fmt.Errorf("make the link of an acknowledgement: %w", err)
		}
	}
	code := ""
	if r.Code != nil {
		code = r.Code(n.ID)
	}
	chooses := ""
	if r.PreferencesLink != nil && to.User != "" {
		of := n.chosen[to.User]
		of.User = to.User
		var err error
		if chooses, err = r.PreferencesLink(n.Tenant, d.Kind, of); err != nil {
			return d, fmt.Errorf("make the link to preferences: %w", err)
		}
	}
	if d.Content != nil {
		key := ""
		if r.Key != nil && bytes.Contains(d.Content.Extra, []byte(keyMark)) {
			var err error
			if key, err = r.Key(n.Tenant, n.ID, cmp.Or(to.User, to.Address)); err != nil {
				return d, fmt.Errorf("make the key of an acknowledgement: %w", err)
			}
		}
		c, links := *d.Content, strings.NewReplacer(linkMark, link, preferencesMark, chooses, keyMark, key, codeMark, code)
		c.Title, c.Text = links.Replace(c.Title), links.Replace(c.Text)
		if len(c.Extra) > 0 { // none of them needs an escape in JSON
			c.Extra = []byte(links.Replace(string(c.Extra)))
		}
		d.Content = &c
		return d, nil
	}
	filled := map[string]any{}
	for k, v := range payload {
		filled[k] = v
	}
	if link != "" {
		filled["ack_url"] = link
	}
	if r.PreferencesLink != nil { // empty for one who is no user
		filled["preferences_url"] = chooses
	}
	if code != "" {
		filled["ack_code"] = code
	}
	if r.Key != nil {
		key, err := r.Key(n.Tenant, n.ID, cmp.Or(to.User, to.Address))
		if err != nil {
			return d, fmt.Errorf("make the key of an acknowledgement: %w", err)
		}
		filled["ack_key"] = key
	}
	filled["person"], filled["step"], filled["round"] = cmp.Or(to.User, to.Address), n.Step, n.Round
	text, err := json.Marshal(filled)
	d.Payload = text
	return d, err
}

// Marks in a finished content of what acknowledges it, and of the link to the recipient's preferences.
const (
	linkMark        = "${ack_url}"
	keyMark         = "${ack_key}"  // in what only a provider knows: the key of a card's button
	codeMark        = "${ack_code}" // what an answer by text message names
	preferencesMark = "${preferences_url}"
)
