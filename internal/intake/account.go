package intake

import (
	"cmp"
	"hash/fnv"
	"io"
	"math"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// checkAccount says what is wrong with the account or the pool that a draft asks for.
func checkAccount(r *state.Channel, d *posthouse.Draft, p *draft.Problems) {
	switch {
	case d.Account == "" && d.Pool == "":
	case !r.Stored.Accounts:
		p.Add(cmp.Or(word("account", d.Account), "pool"), "the channel %q sends by one account, its own: leave it out", r.Key.Channel)
	case d.Account != "" && d.Pool != "":
		p.Add("pool", "is %.80q beside the account %.80q: want one of both", d.Pool, d.Account)
	case d.Account != "" && r.Opened.Account(d.Account) == nil:
		p.Add("account", "is %.80q, which the channel %q does not have: GET /v1/channels/%s/accounts lists those it has", d.Account, r.Key.Channel, r.Key.Channel)
	case d.Pool != "" && !r.Opened.HasPool(d.Pool):
		p.Add("pool", "is %.80q, in which no account of the channel %q is; %s", d.Pool, r.Key.Channel, channel.OneOf("pools", d.Pool, r.Opened.Pools()))
	}
}

// word is a name where there is a value.
func word(name, value string) string {
	if value == "" {
		return ""
	}
	return name
}

// pinned pins a delivery to an account where its message names one, or its channel keeps conversations on one.
func pinned(r *state.Channel, m *posthouse.Message, d *posthouse.Delivery) {
	switch {
	case m.Account != "":
		d.Account, d.Pinned = m.Account, true
	case r.Stored.Accounts && r.Settings.Sticky == posthouse.StickyConversation:
		d.Account = stuck(r, m.Pool, conversation(m, d))
		d.Pinned, d.Pool = d.Account != "", m.Pool
	default:
		d.Pool = m.Pool
	}
	if d.Pinned {
		d.Pool = ""
	}
}

// line puts a delivery in line where its message has an ordering key: it waits there until it is admitted.
func line(m *posthouse.Message, d *posthouse.Delivery) {
	if m.OrderingKey != "" && d.State == posthouse.Pending {
		d.Line = work.LineOf(m.OrderingKey)
	}
}

// conversation is what a reader sees as one: all of a kind and ref, or else of a recipient.
func conversation(m *posthouse.Message, d *posthouse.Delivery) string {
	if m.Ref != "" {
		return "ref\x00" + m.Kind + "\x00" + m.Ref
	}
	return "to\x00" + cmp.Or(d.Address, d.User)
}

// stuck is the account that a conversation stays on: by rendezvous of its name with those of the accounts, so that a new
// account takes over its share of the conversations and no other is disturbed. Those that cannot be opened take no part. It
// is empty where there is none.
func stuck(r *state.Channel, pool, of string) string {
	best, name := math.Inf(-1), ""
	for _, a := range r.Opened.Accounts {
		if a.Err != nil || pool != "" && !a.In(pool) {
			continue
		}
		if score := draw(of, a.Name, a.Share()); score > best {
			best, name = score, a.Name
		}
	}
	return name
}

// draw is a lot of an account in a conversation: the greatest of all wins, as often as its weight says.
func draw(of, account string, weight int) float64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, of)
	_, _ = io.WriteString(h, "\x00"+account)
	n := h.Sum64()
	n ^= n >> 33 // the high bits of FNV hardly differ between texts that differ at their ends
	n *= 0xff51afd7ed558ccd
	n ^= n >> 33
	share := (float64(n>>11) + 0.5) / (1 << 53)
	return -float64(weight) / math.Log(share) // the greater the share, the greater the score
}
