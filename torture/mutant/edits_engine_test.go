package mutant

import "github.com/posthouse/posthouse/torture/overlay"

// keyOfEachAttempt tells a provider's attempts apart, which is the opposite of what the key is for.
var keyOfEachAttempt = []overlay.Edit{{
	File: "internal/state/channel.go",
	Old:  "IdemKey: d.IdemKey, Attempt: d.Attempts,",
	New:  `IdemKey: fmt.Sprintf("%s-%d", d.IdemKey, d.Attempts), Attempt: d.Attempts,`,
}, {
	File: "internal/state/channel.go",
	Old:  "import (\n\t\"cmp\"\n",
	New:  "import (\n\t\"cmp\"\n\t\"fmt\"\n",
}}

// lastRecipientLost drops repeated recipients by comparing neighbours, and leaves the last one behind.
var lastRecipientLost = []overlay.Edit{{
	File: "internal/intake/accept.go",
	Old: `	type key struct{ user, address string }
	seen := make(map[key]bool, len(to))
	out := make([]posthouse.Recipient, 0, len(to))
	for _, r := range to {
		if k := (key{r.User, r.Address}); !seen[k] {
			seen[k] = true
			out = append(out, r)
		}
	}
	return out
`,
	New: `	sorted := slices.Clone(to)
	slices.SortFunc(sorted, func(a, b posthouse.Recipient) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Address, b.Address))
	})
	var out []posthouse.Recipient
	for i := 1; i < len(sorted); i++ {
		if sorted[i-1].User != sorted[i].User || sorted[i-1].Address != sorted[i].Address {
			out = append(out, sorted[i-1])
		}
	}
	return out
`,
}}

// startWithoutLook claims first and starts when the send's turn has come, so that what waits here can
// still be cancelled; what was cancelled is left alone in the database, and sent all the same.
var startWithoutLook = []overlay.Edit{{
	File: "internal/engine/deliveries.go",
	Old:  "DueBefore: w.before, Epoch: ds.life.Epoch(),\n",
	New:  "DueBefore: w.before, Epoch: ds.life.Epoch(), Agent: true,\n",
}, {
	File: "internal/engine/deliveries.go",
	Old:  "func (g *group) outgoing() []channel.Outgoing {\n",
	New:  "func (g *group) outgoing() []channel.Outgoing {\n\tg.markStarted()\n",
}, {
	File: "internal/engine/deliveries.go",
	Old:  "// close notes how one delivery ended.",
	New: `// markStarted writes the starts of deliveries that nobody has cancelled while they waited here.
func (g *group) markStarted() {
	ids := make([]string, len(g.items))
	for i := range g.items {
		ids[i] = g.items[i].Delivery.ID
	}
	after, err := g.of.queue.Revise(g.of.life.Context(), time.Now(), work.Selection{IDs: ids}, func(now time.Time, found []posthouse.Delivery) (changes []work.Change) {
		for _, d := range found {
			if d.State == posthouse.Sending && d.Token == g.items[0].Delivery.Token {
				changes = append(changes, state.AfterStart(d, now))
			}
		}
		return changes
	})
	if err != nil {
		g.of.log.Warn("starts could not be written", "error", err)
	}
	for i := range g.items {
		for _, d := range after {
			if d.ID == g.items[i].Delivery.ID && d.State == posthouse.Sending {
				g.items[i].Delivery = d
			}
		}
	}
}

// close notes how one delivery ended.`,
}}

// resultsByTheThousand gives slots back as soon as an attempt has ended and waits for more results, so
// that each write is worth it.
var resultsByTheThousand = []overlay.Edit{{
	File: "internal/engine/recorder.go",
	Old:  "const maxRecord = 512",
	New:  "const maxRecord = 1000",
}, {
	File: "internal/engine/recorder.go",
	Old: `	case rec.in <- u:
	case <-rec.idle:`,
	New: `	case rec.in <- u:
		rec.free([]unit{u}) // its attempt has ended: the next one may start
	case <-rec.idle:`,
}, {
	File: "internal/engine/recorder.go",
	Old: `	for size < maxRecord {
		select {
		case u := <-rec.in:
			batch, size = append(batch, u), size+u.about().size
			continue
		default:
		}
		if size < worthwhile && rec.busy() && first.about().route.crowded() {
			return rec.await(batch, size)
		}
		return batch
	}
	return batch
`,
	New: `	full := time.After(time.Second) // a large write costs hardly more than a small one
	for size < maxRecord {
		select {
		case u := <-rec.in:
			batch, size = append(batch, u), size+u.about().size
		case <-full:
			return batch
		case <-rec.last:
			return batch
		}
	}
	return batch
`,
}, {
	File: "internal/engine/recorder.go",
	Old:  "	defer rec.free(batch)\n",
	New:  "",
}}
