package mutant

import "github.com/posthouse/posthouse/torture/overlay"

// fetchedIsGone moves on as it hands out: what a phone was handed is the phone's, and the rescuer looks after
// processes alone.
var fetchedIsGone = []overlay.Edit{{
	File: "internal/engine/rescuer.go",
	Old:  "	if res.recorder.has(d) || res.reported(d.ID) {\n",
	New:  "	if res.recorder.has(d) || work.AgentOf(d.LeaseOwner) != \"\" {\n",
}}

// countedLater gathers what changes of the counts and writes it once a second, which costs a transaction a second
// instead of a statement in each.
var countedLater = []overlay.Edit{{
	File: "internal/store/tally.go",
	Old:  "func (c counting) into(b *sqldb.Bundle) { b.Add(talliesTable, c.rows()) }\n",
	New: `func (c counting) into(*sqldb.Bundle) {
	uncounted.Lock()
	defer uncounted.Unlock()
	for kind, n := range c {
		uncounted.counting[kind] += n
	}
}

// uncounted is what is not in the table yet.
var uncounted = struct {
	sync.Mutex
	counting
}{counting: counting{}}

// countLater writes what was gathered, again and again.
func (s *shared) countLater() {
	for range time.Tick(time.Second) {
		uncounted.Lock()
		c := uncounted.counting
		uncounted.counting = counting{}
		uncounted.Unlock()
		if err := s.change(context.Background(), time.Now(), "count", func(t *tx) error { return t.count(c) }); err != nil {
			s.db.Log.Warn("counts cannot be written", "error", err)
		}
	}
}
`,
}, {
	File: "internal/store/tally.go",
	Old:  "	\"slices\"\n",
	New:  "	\"slices\"\n	\"sync\"\n	\"time\"\n",
}, {
	File: "internal/store/store.go",
	Old:  "	s := &shared{db: db, feed: newFeedSwitch()}\n",
	New:  "	s := &shared{db: db, feed: newFeedSwitch()}\n	go s.countLater()\n",
}}

// reportOfAnybody asks whether the task is out, and not with whom: its protocol has no tokens, and apps know only
// their own tasks.
var reportOfAnybody = []overlay.Edit{{
	File: "internal/state/pulled.go",
	Old:  "	return d.State == posthouse.Sending && d.LeaseOwner == work.Owner(agent) && (token == 0 || token == d.Token)\n",
	New:  "	return d.State == posthouse.Sending && (token == 0 || token == d.Token)\n",
}}
