package engine

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/retry"
	"github.com/posthouse/posthouse/internal/rollup"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/suppress"
	"github.com/posthouse/posthouse/internal/work"
)

// deliveries are the kind of unit that messages are sent by.
type deliveries struct {
	queue    Queue
	contents *content.Contents
	suspects *suspects
	restorer *restorer
	permits  *permits
	sieve    *suppress.Sieve
	quiet    *quiet.Keeper
	rollup   *rollup.Rollup
	stands   func(l work.LineKey) // somebody may be first in a line now
	rouse    func(k state.Key, p posthouse.Priority, pin work.Pin)
	life     *life.Life
	log      *slog.Logger
	metrics  *metrics.Metrics
	owner    string
}

// group is a unit of deliveries: those of one message that one call sends.
type group struct {
	seated
	of    *deliveries
	route *route
	is    about
	items []work.Item // that are to be sent
	ended []done
	taken map[string]limit.Grant // permits of its deliveries besides, by their ids
	took  time.Duration
}

// done is one delivery whose attempt has ended, or did not begin.
type done struct {
	route   *route
	item    *work.Item
	verdict verdict
	result  channel.Result
	reason  string // with quarantine, release and suppress
}

// claim takes deliveries that are due, and makes units of them.
func (ds *deliveries) claim(ctx context.Context, w wish) (claimed, error) {
	r := w.route
	c := work.Claim{
		Lane:  work.Lane{Tenant: r.Key.Tenant, Channel: r.Key.Channel, Priority: w.priority, Pin: w.pin},
		Owner: ds.owner, Lease: w.lease, DueBefore: w.before, Epoch: ds.life.Epoch(), Whole: r.admission.Whole(),
	}
	for _, p := range w.parts {
		if p.Max == 0 { // permits of calls that others make are no room
			continue
		}
		c.Max, c.Messages, c.Cut = c.Max+p.Max, c.Messages+p.Messages, p.Cut
		if r.admission.Several() {
			c.By = append(c.By, work.Share{Account: p.Account, Max: p.Max, Messages: p.Messages, Cut: p.Cut})
		}
	}
	items, err := ds.queue.Claim(ctx, w.at, c)
	if err != nil || len(items) == 0 {
		return claimed{given: make([]admission.Given, len(w.parts))}, err // without a commit nothing is ours: nothing may be sent
	}
	ds.metrics.Wrote("claim", w.at)
	return ds.begin(ctx, w, items), nil
}

// begin makes units of what was claimed, or was accepted with a seat. What finds no call goes back.
func (ds *deliveries) begin(ctx context.Context, w wish, items []work.Item) claimed {
	r := w.route
	found := claimed{at: items[0].Delivery.UpdatedAt, given: make([]admission.Given, len(w.parts))}
	sent := ds.suspects.setApart(r, items, w.at.Add(w.lease))
	bounded, cancel := context.WithDeadline(ctx, w.at.Add(w.lease)) // nothing of it may begin after that anyway
	unreadable := ds.contents.Localize(bounded, sent)
	cancel()
	var groups, over []*group
	for i, p := range w.parts {
		own, begun := items, sent
		if r.admission.Several() {
			own, begun = work.OwnOf(items, p.Account), work.OwnOf(sent, p.Account)
		}
		units, brought := ds.share(r, p.Account, ds.group(r, p.Account, begun))
		given := admission.Given{N: len(own), Brought: brought}
		if p.Calls > 0 && len(units) > p.Calls {
			for _, g := range units[p.Calls:] {
				given.N -= len(g.items)
			}
			units, over, given.Full = units[:p.Calls], append(over, units[p.Calls:]...), true
		}
		if len(own) > 0 {
			given.Brought.Carried = brought.Messages * given.N / len(own)
		}
		for _, g := range units {
			found.units = append(found.units, g)
		}
		given.Calls = len(units)
		groups, found.given[i], found.n = append(groups, units...), given, found.n+given.N
	}
	ds.restore(r, over, w.at.Add(w.lease))
	if unreadable != nil {
		ds.log.Warn("the languages of recipients cannot be looked up: what was claimed goes back", "channel", r.Key.Channel, "error", unreadable)
		for _, g := range groups {
			g.closeAll(done{verdict: verdictRelease, reason: state.ReasonDatabase, result: channel.Result{After: faultPause}})
		}
	}
	ds.bar(ctx, w, groups)
	ds.leaveAlone(ctx, w, groups)
	ds.permits.sift(ctx, r, groups)
	return found
}

// restore gives back what was claimed beyond the calls that may begin, to the place in the queue that it had.
func (ds *deliveries) restore(r *route, over []*group, end time.Time) {
	if len(over) == 0 {
		return
	}
	tokens := map[string]int64{}
	for _, g := range over {
		for i := range g.items {
			d := &g.items[i].Delivery
			tokens[d.ID] = d.Token
			ds.suspects.cleared(d)
		}
	}
	ds.restorer.giveBack(r, tokens, end, func(d posthouse.Delivery, _ time.Time) work.Change {
		return state.AfterRelease(d, d.DueAt, state.ReasonNoCall)
	})
}

// bar ends the attempts at addresses to which nothing is sent, and at people who do not want it.
func (ds *deliveries) bar(ctx context.Context, w wish, groups []*group) {
	r := w.route
	lists := make([][]work.Item, len(groups))
	for i, g := range groups {
		lists[i] = g.items
	}
	ctx, cancel := context.WithDeadline(ctx, w.at.Add(w.lease)) // nothing of it may begin after that anyway
	defer cancel()
	places, err := ds.sieve.Items(ctx, r.Channel, work.Each(lists...))
	if err == nil && len(places) == 0 {
		return
	}
	if err != nil {
		ds.log.Warn("suppressions and preferences cannot be looked up: what was claimed goes back", "channel", r.Key.Channel, "error", err)
	}
	first := 0 // the place of a group's first
	for _, g := range groups {
		n := len(g.items)
		if err != nil {
			g.closeAll(done{verdict: verdictRelease, reason: state.ReasonDatabase, result: channel.Result{After: faultPause}})
			continue
		}
		refused := map[int]done{}
		for i := range n {
			if b, is := places[first+i]; is {
				refused[i] = done{verdict: verdictSuppress, reason: b.Reason, result: channel.Result{Error: b.Why}}
			}
		}
		g.putOff(refused)
		first += n
	}
}

// group makes one unit of all of a message in a language where the driver takes many in one call, else one of each delivery.
func (ds *deliveries) group(r *route, account string, items []work.Item) []*group {
	size := 1
	if _, ok := r.Opened.By(account).(channel.BatchDriver); ok {
		size = max(1, r.Settings.Batch)
	}
	units := make([]*group, 0, len(items))
	for len(items) > 0 {
		first, n := &items[0].Delivery, 1
		for n < min(size, len(items)) && items[n].Delivery.Message == first.Message && items[n].Language == items[0].Language {
			n++
		}
		is := about{kind: ds, route: r, size: n, account: account, message: first.Message, first: first.ID}
		if m := items[0].Message; m != nil {
			is.trace, is.sensitive = m.Trace, m.Sensitive
		}
		units = append(units, &group{of: ds, route: r, is: is, items: items[:n:n]})
		items = items[n:]
	}
	return units
}

func (g *group) about() about { return g.is }

// prepare opens what is sealed, fills anew what changes with the time, and leaves out what cannot be sent.
func (g *group) prepare(ctx context.Context, leaseEnd time.Time) bool {
	if len(g.items) == 0 || !g.unseal(ctx, leaseEnd) || !g.refill(ctx, leaseEnd) || !g.narrow(ctx, leaseEnd) {
		return false
	}
	readable := g.items[:0:0]
	for i := range g.items {
		item := &g.items[i]
		switch why := state.Unreadable(*item); {
		case why != "":
			g.close(item, done{verdict: verdictQuarantine, reason: state.ReasonUnreadable, result: channel.Result{Error: why}})
		case g.tooLate(&item.Delivery, time.Until(leaseEnd)):
			g.close(item, done{verdict: verdictWindow})
		case len(g.items) == 1:
			return true // all of it, as it is nearly always
		default:
			readable = append(readable, *item)
		}
	}
	g.items = readable
	return len(g.items) > 0
}

// close notes how one delivery ended.
func (g *group) close(item *work.Item, d done) {
	d.route, d.item = g.route, item
	g.ended = append(g.ended, d)
}

// closeAll notes how all that were to be sent ended.
func (g *group) closeAll(d done) {
	g.ended = slices.Grow(g.ended, len(g.items))
	for i := range g.items {
		g.close(&g.items[i], d)
	}
	g.items = nil
}

// tooLate reports whether a delivery is a repeat that the provider may not recognise any more. The
// time is that of the database, which the first start was written by: left is what is left of the lease.
func (g *group) tooLate(d *posthouse.Delivery, left time.Duration) bool {
	return state.Doubtful(*d) && !retry.MayResend(d.LeaseUntil.Add(-left), d.FirstStartAt, g.route.Settings.Window, g.route.Settings.Timeout)
}

// rereadAfter is the wait after what a message reads like could not be found out.
const rereadAfter = time.Second

// unseal opens the content of a sensitive message. Where the database cannot be asked for it, the group is given back.
func (g *group) unseal(ctx context.Context, leaseEnd time.Time) bool {
	if m := g.items[0].Message; m == nil || !m.Sensitive {
		return true
	}
	ctx, cancel := context.WithDeadline(ctx, leaseEnd)
	defer cancel()
	err := g.of.contents.Unseal(ctx, g.items)
	if err == nil {
		return true
	}
	g.of.log.Warn("a sealed content cannot be read: its deliveries are given back", "channel", g.route.Key.Channel, "message", g.items[0].Delivery.Message, "error", err)
	g.closeAll(done{verdict: verdictRelease, reason: state.ReasonDatabase, result: channel.Result{After: rereadAfter}})
	return false
}

// refill fills a message anew where it is sent in another language than it was accepted in, and where it has a clock: with the numbers of the moment at which this attempt began,
// by the database's clock.
func (g *group) refill(ctx context.Context, leaseEnd time.Time) bool {
	m := g.items[0].Message
	if m == nil || m.Clock == nil && g.items[0].Language == "" || m.Unreadable != "" {
		return true
	}
	ctx, cancel := context.WithDeadline(ctx, leaseEnd)
	defer cancel()
	fresh, wrong, err := g.of.contents.Fresh(ctx, m, g.items[0].Language, cmp.Or(g.items[0].Delivery.StartedAt, g.of.life.Now()))
	switch {
	case err != nil:
		g.of.log.Warn("a template cannot be read: what it fills is given back", "channel", m.Channel, "message", m.ID, "template", m.Template, "error", err)
		g.closeAll(done{verdict: verdictRelease, reason: state.ReasonDatabase, result: channel.Result{After: rereadAfter}})
	case wrong != "":
		g.closeAll(done{verdict: verdictQuarantine, reason: state.ReasonTemplate, result: channel.Result{Error: wrong}})
	default:
		for i := range g.items {
			g.items[i].Message = fresh
		}
		return true
	}
	return false
}

// narrow leaves of each payload what is to leave: the provider is told nothing that no template asks for.
func (g *group) narrow(ctx context.Context, leaseEnd time.Time) bool {
	ctx, cancel := context.WithDeadline(ctx, leaseEnd)
	defer cancel()
	var whole, leaving *posthouse.Message
	for i := range g.items {
		m := g.items[i].Message
		if m == nil || m.Unreadable != "" {
			continue
		}
		if m != whole {
			var err error
			if leaving, err = g.of.contents.Leaving(ctx, m, g.items[i].Language, g.route.Opened.Names); err != nil {
				g.of.log.Warn("a template cannot be read: what it fills is given back", "channel", m.Channel, "message", m.ID, "template", m.Template, "error", err)
				g.closeAll(done{verdict: verdictRelease, reason: state.ReasonDatabase, result: channel.Result{After: rereadAfter}})
				return false
			}
			whole = m
		}
		g.items[i].Message = leaving
	}
	return true
}

func (g *group) outgoing() []channel.Outgoing {
	outs := make([]channel.Outgoing, len(g.items))
	for i := range g.items {
		outs[i] = g.route.Outgoing(g.items[i])
	}
	return outs
}

func (g *group) end(e ending) {
	g.took = e.took
	if e.results == nil {
		g.closeAll(done{verdict: e.verdict, reason: e.reason})
		return
	}
	g.ended = slices.Grow(g.ended, len(g.items))
	for i := range g.items {
		g.close(&g.items[i], done{verdict: e.verdict, reason: e.reason, result: e.results[i]})
	}
	g.items = nil
}

func (g *group) holds(id string, token int64) bool {
	return slices.ContainsFunc(g.ended, func(d done) bool { return d.item.Delivery.ID == id && d.item.Delivery.Token == token })
}

func (g *group) done() (unsent, unseen int) {
	for i := range g.ended {
		d := &g.ended[i]
		g.of.suspects.cleared(&d.item.Delivery)
		grant, some := g.taken[d.item.Delivery.ID]
		if d.left() {
			if d.result.Unsent {
				unseen++
			}
			if some && state.Unsent(d.result.Class) { // a cap counts what people get
				grant = state.CapsIn(grant)
				g.of.permits.refund(&grant, 1)
			}
			continue
		}
		unsent++
		if some {
			g.of.permits.refund(&grant, 1)
		}
	}
	return unsent, unseen
}

// left reports whether a byte of it may have left for the provider.
func (d *done) left() bool {
	return d.verdict == verdictResult || d.verdict == verdictQuarantine && d.reason == state.ReasonPanic
}

// kind is the type of its content.
func (d *done) kind() posthouse.ContentType {
	if d.item.Message == nil {
		return posthouse.TextContent
	}
	return d.item.Message.Content.Kind()
}

// minute is what it counts as.
func (d *done) minute() work.MinuteKey {
	return work.MinuteKey{
		Tenant: d.route.Key.Tenant, Channel: d.route.Key.Channel, Account: d.item.Delivery.Account, Type: string(d.kind()), Outcome: string(d.result.Class),
	}
}
