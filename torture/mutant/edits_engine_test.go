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
	File: "internal/engine/accept.go",
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
	File: "internal/engine/dispatcher.go",
	Old:  "DueBefore: before, Epoch: e.Epoch(),\n",
	New:  "DueBefore: before, Epoch: e.Epoch(), Agent: true,\n",
}, {
	File: "internal/engine/sender.go",
	Old:  "\tresults, panicked := e.call(",
	New:  "\te.markStarted(readable)\n\tresults, panicked := e.call(",
}, {
	File: "internal/engine/sender.go",
	Old:  "// isStopping reports",
	New: `// markStarted writes the starts of deliveries that nobody has cancelled while they waited here.
func (e *Engine) markStarted(group []work.Item) {
	ids := make([]string, len(group))
	for i := range group {
		ids[i] = group[i].Delivery.ID
	}
	after, err := e.o.Store.Revise(e.bg, time.Now(), work.Selection{IDs: ids}, func(now time.Time, found []posthouse.Delivery) (changes []work.Change) {
		for _, d := range found {
			if d.State == posthouse.Sending && d.Token == group[0].Delivery.Token {
				changes = append(changes, state.AfterStart(d, now))
			}
		}
		return changes
	})
	if err != nil {
		e.log.Warn("starts could not be written", "error", err)
	}
	for i := range group {
		for _, d := range after {
			if d.ID == group[i].Delivery.ID && d.State == posthouse.Sending {
				group[i].Delivery = d
			}
		}
	}
}

// isStopping reports`,
}}

// resultsByTheThousand gives slots back as soon as an attempt has ended and waits for more results, so
// that each write is worth it.
var resultsByTheThousand = []overlay.Edit{{
	File: "internal/engine/recorder.go",
	Old:  "const maxRecord = 512",
	New:  "const maxRecord = 1000",
}, {
	File: "internal/engine/recorder.go",
	Old: `	case rec.in <- d:
	case <-rec.idle:`,
	New: `	case rec.in <- d:
		rec.free([]done{d}) // its attempt has ended: the next one may start
	case <-rec.idle:`,
}, {
	File: "internal/engine/recorder.go",
	Old: `	batch := append(make([]done, 0, 1+len(rec.in)), first)
	for len(batch) < maxRecord {
		select {
		case d := <-rec.in:
			batch = append(batch, d)
			continue
		default:
		}
		if len(batch) < worthwhile && rec.engine.accepter.busy() && first.route.crowded() {
			return rec.await(batch)
		}
		return batch
	}
	return batch
`,
	New: `	batch := append(make([]done, 0, 1+len(rec.in)), first)
	full := time.After(time.Second) // a large write costs hardly more than a small one
	for len(batch) < maxRecord {
		select {
		case d := <-rec.in:
			batch = append(batch, d)
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
	Old: `			rec.engine.report(&batch[i], &changes[i])
		}
	}
	rec.free(batch)
`,
	New: `			rec.engine.report(&batch[i], &changes[i])
		}
	}
`,
}}
