package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// Report writes what agents say and what follows from it, in one transaction. decide is called for each
// report whose id is new, with its delivery locked as the reports before it have left it, and again when the
// transaction is repeated. It sets the report's Answer and returns the change, nil for none. The answer has
// the reports in order. A report without an ID gets one.
func (s Reports) Report(ctx context.Context, now time.Time, list []work.Report,
	decide func(now time.Time, r *work.Report, known work.Known) *work.Change) ([]work.Report, error) {
	var answers []work.Report
	write := func(wary bool) error {
		return s.change(ctx, now, "write reports", func(t *tx) (err error) {
			answers, err = handing{t}.report(slices.Clone(list), wary, decide)
			return err
		})
	}
	err := write(false)
	for try := 1; try < sqldb.BusyTries && s.db.Taken(err); try++ {
		err = write(true) // a report id is known, or came in twice at once: now it is
	}
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// reportKey is what makes a report known again.
type reportKey struct{ tenant, agent, id string }

func keyOfReport(r *work.Report) reportKey { return reportKey{r.Tenant, r.Agent, r.ReportID} }

// holding names what one agent has been handed.
type holding struct{ tenant, agent, delivery string }

func holdingOf(r *work.Report) holding { return holding{r.Tenant, r.Agent, r.Delivery} }

// reporting is what one transaction knows of its reports.
type reporting struct {
	at         time.Time
	deliveries map[string]*posthouse.Delivery // as the reports so far leave them
	known      map[reportKey]*work.Report
	tokens     map[holding][]int64
	last       map[holding]*work.Report
	changed    map[string]int // delivery → its place in changes
	changes    []work.Change
	lines      [][]any
}

func (t handing) report(list []work.Report, wary bool, decide func(time.Time, *work.Report, work.Known) *work.Change) ([]work.Report, error) {
	p := reporting{
		deliveries: map[string]*posthouse.Delivery{}, known: map[reportKey]*work.Report{}, tokens: map[holding][]int64{},
		last: map[holding]*work.Report{}, changed: map[string]int{},
	}
	if err := p.read(t.tx, list, wary); err != nil {
		return nil, err
	}
	for i := range list {
		if err := p.take(t.tx, &list[i], decide); err != nil {
			return nil, err
		}
	}
	b, err := (*flights)(nil).bundleOf(sqldb.Micros(p.at), p.changes)
	if err != nil {
		return nil, err
	}
	b.Insert(layout.ReportLog, p.lines)
	layout.TallyOf(p.changes).Into(&b)
	told := t.news()
	told.changes(p.changes)
	if err := t.announce(&b, told); err != nil {
		return nil, err
	}
	if err := t.Run(b); err != nil {
		return nil, err
	}
	return list, settling{t.tx}.tellNotifications(sqldb.Micros(p.at), p.changes)
}

// read locks the deliveries first: who reports on the same one waits here, and then finds what was said. Of the
// first report of who holds a delivery nothing else matters; that its id is not known is found out as it is
// written, and then all is looked up by the wary.
func (p *reporting) read(t *tx, list []work.Report, wary bool) error {
	var ids []string
	seen := make(map[string]bool, len(list))
	for i := range list {
		if id := layout.IDOnly(list[i].Delivery); id != "" && !seen[id] {
			seen[id], ids = true, append(ids, id)
		}
	}
	found, err := settling{t}.lockRows(work.Selection{IDs: ids})
	if err != nil {
		return err
	}
	for i := range found {
		p.deliveries[found[i].ID] = &found[i]
	}
	if err := p.readPast(t, p.doubtful(list, wary)); err != nil {
		return err
	}
	now, err := t.Now()
	p.at = sqldb.TimeOf(now)
	return err
}

// doubtful are the reports whose past has to be looked up.
func (p *reporting) doubtful(list []work.Report, wary bool) []work.Report {
	if wary {
		return list
	}
	var out []work.Report
	said := map[string]bool{}
	for i := range list {
		r, d := &list[i], p.deliveries[list[i].Delivery]
		if said[r.Delivery] || !heldBy(d, r) {
			out = append(out, *r)
		}
		said[r.Delivery] = true
	}
	return out
}

// heldBy reports whether a report is by who holds its delivery.
func heldBy(d *posthouse.Delivery, r *work.Report) bool {
	return d != nil && d.Tenant == r.Tenant && d.State == posthouse.Sending && d.LeaseOwner == work.Owner(r.Agent) &&
		(r.Token == 0 || r.Token == d.Token)
}

// readPast reads what agents were handed and have said before.
func (p *reporting) readPast(t *tx, list []work.Report) error {
	if len(list) == 0 {
		return nil
	}
	keys, ids := make([][]any, len(list)), make([]string, 0, len(list))
	for i := range list {
		keys[i] = []any{list[i].Tenant, list[i].Agent, list[i].ReportID}
		if id := layout.IDOnly(list[i].Delivery); id != "" {
			ids = append(ids, id)
		}
	}
	err := t.ByKeys(layout.ReportLog, layout.ReportLog.List, keys, func(scan sqldb.Scanner) error {
		r, err := layout.ReadReport(scan)
		p.known[keyOfReport(r)] = r
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(ids)
	if err := p.readTokens(t, slices.Compact(ids)); err != nil {
		return err
	}
	return p.readLast(t, list)
}

func (p *reporting) readTokens(t *tx, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	clause, args := t.Among("delivery", ids)
	return t.Query("SELECT tenant, agent, delivery, token FROM posthouse_send_log WHERE "+clause+" ORDER BY delivery, token", args, func(scan sqldb.Scanner) error {
		var h holding
		var token int64
		err := scan(&h.tenant, &h.agent, &h.delivery, &token)
		p.tokens[h] = append(p.tokens[h], token)
		return err
	})
}

// heeded reports whether a report counted: what was refused since does not make its repeat another.
func heeded(r *work.Report) bool {
	return r.Answer == posthouse.ReportDone || r.Answer == posthouse.ReportEvidence
}

// readLast reads what each agent said last of each delivery, of what counted.
func (p *reporting) readLast(t *tx, list []work.Report) error {
	var rows [][]any
	asked := map[holding]bool{}
	for i := range list {
		if h := holdingOf(&list[i]); layout.IDOnly(h.delivery) != "" && !asked[h] {
			asked[h] = true
			rows = append(rows, []any{h.tenant, h.agent, h.delivery})
		}
	}
	each := func(scan sqldb.Scanner) error {
		r, err := layout.ReadReport(scan)
		p.last[holdingOf(r)] = r
		return err
	}
	const newest = " FROM posthouse_report_log WHERE tenant = %s AND agent = %s AND delivery = %s AND answer IN ('" +
		string(posthouse.ReportDone) + "', '" + string(posthouse.ReportEvidence) + "') ORDER BY id DESC LIMIT 1"
	if t.DB.Dialect.Arrays && len(rows) > 0 {
		texts := layout.ReportLog.Numbers[:3]
		return t.Query("SELECT "+layout.ReportLog.List+" FROM "+sqldb.Unnest(texts)+" AS g(a, b, c) CROSS JOIN LATERAL (SELECT *"+
			fmt.Sprintf(newest, "g.a", "g.b", "g.c")+") r", sqldb.Arrays(texts, rows), each)
	}
	one := "SELECT * FROM (SELECT " + layout.ReportLog.List + fmt.Sprintf(newest, "?", "?", "?") + ") l"
	for part := range sqldb.Sized(rows) {
		if err := t.Query(strings.Repeat(one+" UNION ALL ", len(part)-1)+one, slices.Concat(part...), each); err != nil {
			return err
		}
	}
	return nil
}

// take answers one report.
func (p *reporting) take(t *tx, r *work.Report, decide func(time.Time, *work.Report, work.Known) *work.Change) error {
	if first, ok := p.known[keyOfReport(r)]; ok {
		r.Answer, r.State, r.Repeated = first.Answer, first.State, true
		if layout.IDOnly(first.Delivery) != layout.IDOnly(r.Delivery) {
			r.Answer, r.State = posthouse.ReportReused, ""
		}
		return nil
	}
	r.At = p.at
	if r.ID == "" {
		r.ID = posthouse.NewID()
	}
	d := p.deliveries[r.Delivery]
	if d != nil && d.Tenant != r.Tenant {
		d = nil
	}
	h := holdingOf(r)
	var failed error
	past := func() (f work.Failures) {
		f, failed = t.failuresOf(r.Delivery)
		return f
	}
	c := decide(p.at, r, work.Known{Delivery: copyOf(d), Tokens: p.tokensOf(h, d), Last: p.last[h], Past: past})
	if failed != nil {
		return failed
	}
	if c != nil {
		if d == nil || c.Before.ID != d.ID {
			return errors.New("a report can change nothing but its own delivery")
		}
		p.change(d, c)
	}
	if d != nil {
		r.State = d.State
	}
	if r.Answer == "" {
		return errors.New("a report was left without an answer")
	}
	p.known[keyOfReport(r)] = r
	if heeded(r) {
		p.last[h] = r
	}
	p.lines = append(p.lines, layout.ReportValues(r))
	return nil
}

// tokensOf are those of the log of hand-outs, and the one that the agent holds even where the log has been cut.
func (p *reporting) tokensOf(h holding, d *posthouse.Delivery) []int64 {
	tokens := slices.Clone(p.tokens[h])
	if d != nil && d.State == posthouse.Sending && d.LeaseOwner == work.Owner(h.agent) && !slices.Contains(tokens, d.Token) {
		tokens = append(tokens, d.Token)
	}
	return tokens
}

// change notes what a report changes. Several of one delivery become one change of several steps.
func (p *reporting) change(d *posthouse.Delivery, c *work.Change) {
	if i, again := p.changed[d.ID]; again {
		all := &p.changes[i]
		all.After, all.Events = c.After, append(all.Events, c.Events...)
		if c.Await != nil {
			all.Await = c.Await
		}
	} else {
		p.changed[d.ID] = len(p.changes)
		p.changes = append(p.changes, *c)
	}
	version := d.Version + int64(len(c.Events))
	*d = c.After
	d.Version, d.UpdatedAt = version, sqldb.TimeOf(later(sqldb.Micros(p.at), &c.Before))
}

func copyOf(d *posthouse.Delivery) *posthouse.Delivery {
	if d == nil {
		return nil
	}
	c := *d
	return &c
}

// Spoke reports whether an agent has reported anything since a time.
func (s Reports) Spoke(ctx context.Context, tenant, agent string, since time.Time) (bool, error) {
	_, found, err := sqldb.First(s.db.Reads(ctx), sqldb.Word, "SELECT report_id FROM posthouse_report_log WHERE tenant = ? AND agent = ? AND at >= ? AND at > 0 LIMIT 1", tenant, agent, sqldb.Micros(since))
	return found, s.db.Coded(err, "look for an agent's reports")
}
