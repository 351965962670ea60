package mutant

import "github.com/posthouse/posthouse/torture/internal/overlay"

// fetchedIsGone moves on as it hands out: what a phone was handed is the phone's, and the rescuer looks after
// processes alone.
var fetchedIsGone = []overlay.Edit{{
	File: "internal/rescue/rescuer.go",
	Old:  "	if res.Results.Has(d) || res.Reported(d.ID) {\n",
	New:  "	if res.Results.Has(d) || work.AgentOf(d.LeaseOwner) != \"\" {\n",
}}

// countedLater gathers what changes of the counts and writes it once a second, which costs a transaction a second
// instead of a statement in each.
var countedLater = []overlay.Edit{{
	File: "internal/store/layout/count.go",
	Old:  "func (c Counting) Into(b *sqldb.Bundle) { b.Add(Tallies, c.Rows()) }\n",
	New: `func (c Counting) Into(*sqldb.Bundle) {
	Uncounted.Lock()
	defer Uncounted.Unlock()
	for kind, n := range c {
		Uncounted.Counting[kind] += n
	}
}

// Uncounted is what is not in the table yet.
var Uncounted = struct {
	sync.Mutex
	Counting
}{Counting: Counting{}}
`,
}, {
	File: "internal/store/layout/count.go",
	Old:  "	\"slices\"\n",
	New:  "	\"slices\"\n	\"sync\"\n",
}, {
	File: "internal/store/store.go",
	Old:  "	return &Store{\n",
	New:  "	go s.countLater()\n	return &Store{\n",
}, {
	File: "internal/store/tally.go",
	Old:  "// Tally says how many",
	New: `// countLater writes what was gathered, again and again.
func (s *shared) countLater() {
	for range time.Tick(time.Second) {
		layout.Uncounted.Lock()
		c := layout.Uncounted.Counting
		layout.Uncounted.Counting = layout.Counting{}
		layout.Uncounted.Unlock()
		if err := s.change(context.Background(), time.Now(), "count", func(t *tx) error { return t.count(c) }); err != nil {
			s.db.Log.Warn("counts cannot be written", "error", err)
		}
	}
}

// Tally says how many`,
}, {
	File: "internal/store/tally.go",
	Old:  "	\"context\"\n",
	New:  "	\"context\"\n	\"time\"\n",
}}

// reportOfAnybody asks whether the task is out, and not with whom: its protocol has no tokens, and apps know only
// their own tasks.
var reportOfAnybody = []overlay.Edit{{
	File: "internal/state/pulled.go",
	Old:  "	return d.State == posthouse.Sending && d.LeaseOwner == work.Owner(agent) && (token == 0 || token == d.Token)\n",
	New:  "	return d.State == posthouse.Sending && (token == 0 || token == d.Token)\n",
}}
