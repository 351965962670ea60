package crash

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
)

// killpoint is added to the module by the overlay: Here ends the process with SIGKILL where a file of
// the point's name lies in a folder, and takes the file away, so that the next process passes.
const killpoint = `// Package killpoint ends the process at named points.
package killpoint

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
)

var folder = os.Getenv("TORTURE_KILLPOINTS")

// Here is the named point.
func Here(name string) {
	if folder == "" || os.Remove(filepath.Join(folder, name)) != nil {
		return
	}
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// Halve has a point after half of a request's body.
func Halve(r *http.Request) *http.Request {
	if r.Body != nil {
		r.Body = &half{r.Body, r.ContentLength / 2}
	}
	return r
}

type half struct {
	io.ReadCloser
	left int64
}

func (h *half) Read(p []byte) (int, error) {
	if h.left <= 0 {
		Here("half")
		return h.ReadCloser.Read(p)
	}
	n, err := h.ReadCloser.Read(p[:min(int64(len(p)), h.left)])
	h.left -= int64(n)
	return n, err
}
`

// edits put the points where the tests name them.
var edits = []overlay.Edit{
	{File: "internal/killpoint/killpoint.go", New: killpoint},

	{File: "internal/store/sqldb/tx.go", Old: importOld, New: importNew},
	{File: "internal/store/sqldb/tx.go", Old: `doing string, fn func(*Tx) error) error {
	if s.committer != nil {`, New: `doing string, inner func(*Tx) error) (err error) {
	fn := func(t *Tx) error {
		if err := inner(t); err != nil {
			return err
		}
		killpoint.Here(doing + ", not committed")
		return nil
	}
	defer func() {
		if err == nil {
			killpoint.Here(doing + ", committed")
		}
	}()
	if s.committer != nil {`},

	{File: "internal/store/sqldb/bundle.go", Old: importOld, New: importNew},
	{File: "internal/store/sqldb/bundle.go", Old: "alone: true}\n\t\treturn fn(t)\n", New: `alone: true}
		killpoint.Here(doing + ", not committed")
		err := fn(t)
		if err == nil {
			killpoint.Here(doing + ", committed")
		}
		return err
`},

	{File: "internal/store/cleanclaim.go", Old: importOld, New: importNew},
	{File: "internal/store/cleanclaim.go", Old: claimOld, New: "\tkillpoint.Here(\"claim, not committed\")\n" + claimOld},
	{File: "internal/store/cleanclaim.go", Old: "\tif len(b.items) > 0 {\n\t\ts.flights.add(", New: "\tif len(b.items) > 0 {\n\t\tkillpoint.Here(\"claimed\")\n\t\ts.flights.add("}, // a claim that finds nothing commits too
	{File: "internal/store/transit.go", Old: importOld, New: importNew},
	{File: "internal/store/transit.go", Old: "\t\tafter = found\n", New: `		if sel.Due == work.LeaseLost && len(changes) > 0 {
			killpoint.Here("rescue, not committed")
		}
		after = found
`},
	{File: "internal/store/prune.go", Old: importOld, New: importNew},
	{File: "internal/store/prune.go", Old: "\treturn ids, w.del(t, ids)\n", New: `	err = w.del(t, ids)
	killpoint.Here("prune, not committed")
	return ids, err
`},

	{File: "internal/store/gather.go", Old: importOld, New: importNew},
	{File: "internal/store/gather.go", Old: "\tholders, err := t.contend(dedupTable, rows)\n", New: "\tholders, err := t.contend(dedupTable, rows)\n\tkillpoint.Here(\"the key is held\")\n"},
	{File: "internal/store/gather.go", Old: "\treturn write()\n}", New: "\terr = write()\n\tkillpoint.Here(\"the member is written\")\n\treturn err\n}"},
	{File: "internal/store/notified.go", Old: importOld, New: importNew},
	{File: "internal/store/notified.go", Old: "\tif len(withdraw.IDs) > 0 {\n", New: "\tkillpoint.Here(\"the plan hears\")\n\tif len(withdraw.IDs) > 0 {\n"},
	{File: "internal/store/notified.go", Old: "\twritten, err := accepting{t.tx}.writePlan(now, &p)\n", New: "\tkillpoint.Here(\"its deliveries are written\")\n\twritten, err := accepting{t.tx}.writePlan(now, &p)\n"},

	{File: "internal/remind/campaign.go", Old: importOld, New: importNew},
	{File: "internal/remind/campaign.go", Old: "\tif err := c.Campaigns.Make(ctx, r, at, name); err != nil {\n\t\treturn nil, Plan(r), err\n\t}\n", New: `	killpoint.Here("the slot has come")
	if err := c.Campaigns.Make(ctx, r, at, name); err != nil {
		return nil, Plan(r), err
	}
	killpoint.Here("the campaign is made")
`},
	{File: "internal/remind/campaign.go", Old: "\tmade := *r.Preparing\n", New: "\tkillpoint.Here(\"the campaign is noted\")\n\tmade := *r.Preparing\n"},
	{File: "internal/campaign/scheduled.go", Old: importOld, New: importNew},
	{File: "internal/campaign/scheduled.go", Old: "\tif c, err = d.named(ctx, r.Tenant, slot.Campaign); err != nil {\n", New: "\tkillpoint.Here(\"the list is read\")\n\tif c, err = d.named(ctx, r.Tenant, slot.Campaign); err != nil {\n"},
	{File: "internal/campaign/scheduled.go", Old: "\tif _, err := s.fetch.Desk.Start(ctx, ", New: "\tkillpoint.Here(\"the campaign is to start\")\n\tif _, err := s.fetch.Desk.Start(ctx, "},
	{File: "internal/campaign/scheduled.go", Old: "\t\treturn remind.BegunNot, unmade(err)\n\t}\n\treturn remind.BegunNow, nil\n", New: "\t\treturn remind.BegunNot, unmade(err)\n\t}\n\tkillpoint.Here(\"the campaign is started\")\n\treturn remind.BegunNow, nil\n"},

	{File: "internal/store/partition/postgres.go", Old: importOld, New: importNew},
	{File: "internal/store/partition/postgres.go", Old: "\t\t\tif err := t.movePostgres(l, keptKeys(l.Table, stay)); err != nil {\n\t\t\t\treturn err\n\t\t\t}\n", New: `			if err := t.movePostgres(l, keptKeys(l.Table, stay)); err != nil {
				return err
			}
			killpoint.Here("drop of " + l.Table)
`},
	{File: "internal/store/partition/partition.go", Old: importOld, New: importNew},
	{File: "internal/store/partition/partition.go", Old: "\t\ts.db.Log.Info(\"a partition of what is old was dropped\"", New: "\t\tkillpoint.Here(\"drop, committed\")\n\t\ts.db.Log.Info(\"a partition of what is old was dropped\""},
	{File: "internal/store/partition/mysql.go", Old: importOld, New: importNew},
	{File: "internal/store/partition/mysql.go", Old: "\tfor _, in := range InPartitions {\n", New: "\tkillpoint.Here(\"drop, noted\")\n\tfor _, in := range InPartitions {\n"},
	{File: "internal/store/partition/mysql.go", Old: "\treturn t.dropLeaving(l.Table)\n}\n", New: `	err = t.dropLeaving(l.Table)
	killpoint.Here("drop of " + l.Table)
	return err
}
`},
	{File: "internal/store/partition/mysql.go", Old: "l.Table, l.Name, leavingName(l.Table))); err != nil {\n\t\t\treturn err\n\t\t}\n", New: `l.Table, l.Name, leavingName(l.Table))); err != nil {
			return err
		}
		killpoint.Here("half of the drop of " + l.Table)
`},

	{File: "internal/engine/sender.go", Old: importOld, New: importNew},
	{File: "internal/engine/sender.go", Old: "\ttook := time.Since(c.start)\n", New: "\ttook := time.Since(c.start)\n\tkillpoint.Here(\"answered\")\n"},
	{File: "internal/rescue/rescuer.go", Old: importOld, New: importNew},
	{File: "internal/rescue/rescuer.go", Old: "\t\tres.Log.Info(\"overdue delivery handled\"", New: "\t\tkillpoint.Here(\"rescue, committed\")\n\t\tres.Log.Info(\"overdue delivery handled\""},
	{File: "internal/upkeep/pruner.go", Old: "pruneEvery = 10 * time.Minute", New: "pruneEvery = 100 * time.Millisecond"},
	{File: "internal/engine/engine.go", Old: importOld, New: importNew},
	{File: "internal/engine/engine.go", Old: "\t\te.life.Stop()\n", New: "\t\te.life.Stop()\n\t\tkillpoint.Here(\"drain\")\n"},

	{File: "channel/client.go", Old: importOld, New: importNew},
	{File: "channel/client.go", Old: "c.wire.roundTrip(req.http(ctx), t)", New: "c.wire.roundTrip(killpoint.Halve(req.http(ctx)), t)"},
	{File: "channel/client.go", Old: "c.transport.RoundTrip(req.http(ctx))", New: "c.transport.RoundTrip(killpoint.Halve(req.http(ctx)))"},
}

// The texts that several edits name. PostgreSQL claims in one statement: not committed is not begun there.
const (
	claimOld  = "\terr := s.db.ReadAtOnce(ctx, \"claim\", flyTexts[fed]"
	importOld = "import (\n"
	importNew = "import (\n\t\"github.com/posthouse/posthouse/internal/killpoint\"\n"
)

// points is a house of one server that dies at the points.
type points struct {
	*house.House
	store  *store.Store
	server *house.Member
	folder string
}

// openPoints opens a house whose leases are short: most points wait for one to end.
func openPoints(t *testing.T, dsn, binary string) *points {
	t.Helper()
	p := &points{folder: t.TempDir()}
	p.House = house.Open(t, house.Options{DSN: dsn, Binary: binary, Env: []string{
		"TORTURE_KILLPOINTS=" + p.folder, "POSTHOUSE_LEASE_MARGIN=300ms", "POSTHOUSE_RESCUE_EVERY=100ms", "POSTHOUSE_POLL=50ms",
	}})
	p.store, p.server = p.Store(t), p.Members[0]
	return p
}

// arm makes the next process that passes a point die there.
func (p *points) arm(t *testing.T, point string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.folder, point), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestThePointsStillFitTheSource finds the edits whose text has moved on, without a build.
func TestThePointsStillFitTheSource(t *testing.T) {
	t.Parallel()
	overlay.Check(t, edits...)
}
