package reading

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse/internal/store/layout"
	"github.com/posthouse/posthouse/internal/store/page"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/work"
)

// journal is how one of the logs is read: what makes its lines unique beside the time, and how a row becomes a line.
type journal struct {
	columns string
	table   string
	key     string // the columns that tell lines of one time apart
	agents  bool   // whether a line names an agent
	read    func(scan sqldb.Scanner) (work.Line, error)
}

// journals are the logs there are.
var journals = map[work.Log]journal{
	work.ReceiveLog: {layout.ReceiveLog.List, "posthouse_receive_log", "id", false, readReceived},
	work.SendLog:    {layout.SendLog.List, "posthouse_send_log", "delivery, token", true, readHanded},
	work.ReportLog:  {layout.ReportLog.List, "posthouse_report_log", "id", true, readReported},
}

func readReceived(scan sqldb.Scanner) (work.Line, error) {
	l := work.Line{Log: work.ReceiveLog}
	var at, templated int64
	err := scan(&l.ID, &l.Tenant, &at, &l.Delivery, &l.RequestID, &l.Phone, &l.Content,
		&templated, &l.SourceIP, &l.UserAgent, (*sqldb.JSON)(&l.Request), (*sqldb.JSON)(&l.Response), &l.Status)
	l.At, l.Templated = sqldb.TimeOf(at), templated != 0
	return l, err
}

func readHanded(scan sqldb.Scanner) (work.Line, error) {
	l := work.Line{Log: work.SendLog}
	var at int64
	err := scan(&l.Delivery, &l.Token, &l.Tenant, &at, &l.Agent, &l.ClaimID, (*sqldb.JSON)(&l.Request))
	l.ID, l.At = fmt.Sprintf("%s:%d", l.Delivery, l.Token), sqldb.TimeOf(at)
	return l, err
}

func readReported(scan sqldb.Scanner) (work.Line, error) {
	r, err := layout.ReadReport(scan)
	return work.Line{
		ID: r.ID, Log: work.ReportLog, Tenant: r.Tenant, At: r.At, Delivery: r.Delivery, Agent: r.Agent, Token: r.Token,
		ReportID: r.ReportID, Outcome: string(r.Outcome), Answer: string(r.Answer), Error: r.Error, Request: sqldb.JSONOf(r.Request),
	}, err
}

// Log lists the lines of a log, newest first, and returns the next page's cursor.
func (s Logs) Log(ctx context.Context, f work.LogFilter) (list []work.Line, next string, err error) {
	j, known := journals[f.Log]
	if !known {
		return nil, "", fmt.Errorf("there is no log %q", f.Log)
	}
	where, err := j.condition(&f)
	if err != nil {
		return nil, "", err
	}
	size := page.Size(f.Limit)
	list, err = sqldb.All(s.db.Reads(ctx), j.read, "SELECT "+j.columns+" FROM "+j.table+" WHERE "+where.Text+
		" ORDER BY at DESC, "+strings.ReplaceAll(j.key, ",", " DESC,")+" DESC LIMIT ?", append(where.Args, size+1)...)
	if err != nil {
		return nil, "", s.db.Coded(err, "read a log")
	}
	list, next = page.Cut(list, size, string(f.Log), func(l work.Line) string { return fmt.Sprintf("%d %s", sqldb.Micros(l.At), l.ID) })
	if f.Log == work.SendLog {
		err = s.addPhones(ctx, f.Tenant, list)
	}
	return list, next, err
}

// addPhones puts into lines of the log of hand-outs where their deliveries went.
func (s Logs) addPhones(ctx context.Context, tenant string, lines []work.Line) error {
	of := map[string][]*work.Line{}
	for i := range lines {
		of[lines[i].Delivery] = append(of[lines[i].Delivery], &lines[i])
	}
	for part := range sqldb.Parts(slices.Sorted(maps.Keys(of)), sqldb.Chunk) {
		clause, args := s.db.In("id", part)
		where := sqldb.Where("tenant = ? AND "+clause, append([]any{tenant}, args...)...)
		found, err := Messages{s.reader}.mergedRows(ctx, states{open: true, settled: true}, where, nil, "id", len(part))
		if err != nil {
			return s.db.Coded(err, "read where hand-outs went")
		}
		for i := range found {
			for _, l := range of[found[i].ID] {
				l.Phone = found[i].Address
			}
		}
	}
	return nil
}

// condition is what a filter and its cursor select. "at > 0" names the partial index of the log of reports: PostgreSQL,
// which thinks that a young table is small, would look reports up by an index that begins with the tenant alone.
func (j *journal) condition(f *work.LogFilter) (sqldb.Condition, error) {
	where := sqldb.Where("tenant = ? AND at > 0", f.Tenant)
	if f.Delivery != "" {
		where.And("delivery = ?", layout.IDOnly(f.Delivery))
	}
	if f.Agent != "" && j.agents {
		where.And("agent = ?", f.Agent)
	}
	if !f.Since.IsZero() {
		where.And("at >= ?", sqldb.Micros(f.Since))
	}
	if !f.Until.IsZero() {
		where.And("at < ?", sqldb.Micros(f.Until))
	}
	cursor, err := page.Key(string(f.Log), f.Cursor)
	if err != nil || cursor == "" {
		return where, err
	}
	at, id, _ := strings.Cut(cursor, " ") // ours: keyOf has looked at its sum
	moment, err := strconv.ParseInt(at, 10, 64)
	last := []any{id}
	if delivery, token, pair := strings.Cut(id, ":"); pair && err == nil {
		n, err := strconv.ParseInt(token, 10, 64)
		if err != nil {
			return where, err
		}
		last = []any{delivery, n}
	}
	where.And("at <= ? AND (at, "+j.key+") < ("+sqldb.Marks(1+len(last))+")", append([]any{moment, moment}, last...)...)
	return where, err
}
