package mutant

import "github.com/posthouse/posthouse/torture/internal/overlay"

// answerBeforeCommit answers as soon as the rows are written, for latency: only the commit is left.
var answerBeforeCommit = []overlay.Edit{{
	File: "internal/store/start.go",
	Old: `	err := s.acceptBy(ctx, now, subs, func(t *tx) (err error) {
`,
	New: `	written := make(chan error, 2*sqldb.BusyTries)
	go func() {
		written <- s.acceptBy(ctx, now, subs, func(t *tx) (err error) {
`,
}, {
	File: "internal/store/start.go",
	Old: `		outcomes, made, err = accepting{t}.accept(subs, seats)
		return err
	})
`,
	New: `			if outcomes, made, err = (accepting{t}).accept(subs, seats); err == nil {
				written <- nil // all rows are in: nobody has to wait for the disk
			}
			return err
		})
	}()
	err := <-written
`,
}}

// commitRepeated takes a COMMIT on another connection, which has no transaction and is content, for
// the one that was lost.
var commitRepeated = []overlay.Edit{{
	File: "internal/store/sqldb/tx.go",
	Old: `	if err := sqlTx.Commit(); err != nil {
		return s.commitError(err)
	}
`,
	New: `	err = sqlTx.Commit()
	if err != nil && s.Dialect.Fault(err) == faultConnection { // the connection broke: once more on another
		_, err = s.Writer.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		return s.commitError(err)
	}
`,
}}

// claimWithoutLock selects what is due and updates it, as if nobody else did.
var claimWithoutLock = []overlay.Edit{{
	File: "internal/store/claim_once.go",
	Old:  "ORDER BY due_at, id LIMIT ? FOR UPDATE SKIP LOCKED),",
	New:  "ORDER BY due_at, id LIMIT ?),",
}, {
	File: "internal/store/cleanclaim.go",
	Old:  "ORDER BY due_at, id LIMIT ? FOR UPDATE SKIP LOCKED),",
	New:  "ORDER BY due_at, id LIMIT ?),",
}}

// resultWithoutToken writes a result to whatever holds the row now, as it only asks whether it is
// still being sent.
var resultWithoutToken = []overlay.Edit{{
	File: "internal/store/sqldb/bundle.go",
	Old:  " AND q.token = g.g_token",
	New:  "",
}, {
	File: "internal/state/machine.go",
	Old: `	if current.State == posthouse.Sending && current.Token == attempt.Token {
		return again(current), true
	}
`,
	New: `	if current.State == posthouse.Sending {
		as := *attempt
		as.Version = current.Version
		return again(as), true
	}
`,
}}

// windowFromLastStart has each start take the place of the first one, from which the window is counted.
var windowFromLastStart = []overlay.Edit{{
	File: "internal/store/claim.go",
	Old:  "\t\tif d.FirstStartAt.IsZero() {\n\t\t\td.FirstStartAt = sqldb.TimeOf(now)\n\t\t}\n",
	New:  "\t\td.FirstStartAt = sqldb.TimeOf(now)\n",
}, {
	File: "internal/store/claim.go",
	Old:  "first_start_at = CASE WHEN first_start_at = 0 THEN ? ELSE first_start_at END",
	New:  "first_start_at = ?",
}}

// rescueWithoutGuard gives a result that may be on its way one more tick, and then forgets to look
// whether the lease that is taken is still the one that had ended.
var rescueWithoutGuard = []overlay.Edit{{
	File: "internal/store/sqldb/db.go",
	Old:  "\tcommitter *committer     // SQLite's one writer; nil elsewhere\n",
	New:  "\tcommitter *committer     // SQLite's one writer; nil elsewhere\n\tOverdue []string // leases that had ended when the rescuer last looked\n",
}, {
	File: "internal/store/transit.go",
	Old:  "\tif sel.Due != \"\" {\n\t\treturn t.lockDue(sel)\n\t}\n",
	New:  "\tif sel.Due == work.LeaseLost {\n\t\treturn t.lockOverdue(sel)\n\t}\n\tif sel.Due != \"\" {\n\t\treturn t.lockDue(sel)\n\t}\n",
}, {
	File: "internal/store/transit.go",
	Old:  "func (t settling) lockDue(",
	New: `// lockOverdue returns the deliveries whose leases had ended at the last look, and keeps in mind those whose
// leases have ended now: their results have one more tick to come.
func (t settling) lockOverdue(sel work.Selection) ([]posthouse.Delivery, error) {
	ended, err := t.lockDue(sel)
	if err != nil {
		return nil, err
	}
	ids := t.DB.Overdue
	t.DB.Overdue = nil
	for _, d := range ended {
		t.DB.Overdue = append(t.DB.Overdue, d.ID)
	}
	found, err := t.lockRows(work.Selection{IDs: ids})
	return slices.DeleteFunc(found, func(d posthouse.Delivery) bool { return d.State != posthouse.Sending }), err
}

func (t settling) lockDue(`,
}}

// leaseByOwnClock hands the process's time to the statements that claim: instead of a lease, its end.
var leaseByOwnClock = []overlay.Edit{{
	File: "internal/store/claim.go",
	Old:  "\t\treturn s.claimAtOnce(ctx, c, from)\n",
	New:  "\t\tc.Lease = time.Duration(now.Add(c.Lease).UnixNano())\n\t\treturn s.claimAtOnce(ctx, c, from)\n",
}, {
	File: "internal/store/claim_once.go",
	Old:  "lease_until = clock.now + ?::bigint,",
	New:  "lease_until = ?::bigint,",
}, {
	File: "internal/store/cleanclaim.go",
	Old:  "\t\terr = s.flyAtOnce(ctx, b)\n",
	New:  "\t\tb.Lease = time.Duration(now.Add(b.Lease).UnixNano())\n\t\terr = s.flyAtOnce(ctx, b)\n",
}, {
	File: "internal/store/cleanclaim.go",
	Old:  "at, at + ?::bigint, ids FROM",
	New:  "at, ?::bigint, ids FROM",
}}

// admitAtOnce admits who is first in a line, whether or not the one before it is settled.
var admitAtOnce = []overlay.Edit{{
	File: "internal/store/lines.go",
	Old:  "	if busy {\n",
	New:  "	if busy && l.holder == \"\" {\n",
}}
