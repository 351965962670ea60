package mutant

import "github.com/posthouse/posthouse/torture/internal/overlay"

// keyOfEachAttempt tells a provider's attempts apart, which is the opposite of what the key is for.
var keyOfEachAttempt = []overlay.Edit{{
	File: "internal/state/channel.go",
	Old:  "IdemKey: d.IdemKey, Attempt: d.Attempts,",
	New:  `IdemKey: fmt.Sprintf("%s-%d", d.IdemKey, d.Attempts), Attempt: d.Attempts,`,
}}

// lastRecipientLost drops repeated recipients by comparing neighbours, and leaves the last one behind.
var lastRecipientLost = []overlay.Edit{{
	File: "internal/intake/accept.go",
	Old: `	type key struct{ user, address string }
	seen := make(map[key]bool, len(to))
	out := make([]posthouse.Recipient, 0, len(to))
	for _, r := range to {
		k := key{r.User, r.Address}
		if k.user != "" && k.address != "" && ch.Names(k.user, k.address) {
			k.user = ""
		}
		if !seen[k] {
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

// cancelWithoutLook looks for what a cancelled delivery was due by, and leaves it there: a claim finds it and does not
// look whether anybody has cancelled it since.
var cancelWithoutLook = []overlay.Edit{{
	File: "internal/store/expand.go",
	Old:  "n, err := t.Exec(\"DELETE FROM posthouse_due WHERE tenant = ? AND channel = ? AND priority = ? AND due_at = ? AND id = ?\",",
	New:  "n, err := t.Exec(\"UPDATE posthouse_due SET due_at = due_at WHERE tenant = ? AND channel = ? AND priority = ? AND due_at = ? AND id = ?\",",
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
