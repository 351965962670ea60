package outbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
)

// dialect is what differs between the databases.
type dialect struct {
	dollar bool // placeholders are $1, $2, … instead of ?
	// clock is the database's own in microseconds; empty where the caller's counts.
	clock string
	// lock makes a transaction the writer before it looks; empty where there can be several.
	lock string
	// waiting is what else must hold to look for rows of the outbox.
	waiting string
	// beside is set where nothing may be read in the caller's transaction.
	beside bool
}

func dialects() map[Database]dialect {
	return map[Database]dialect{
		// A transaction that reads first and writes then is refused for good where another wrote between.
		SQLite: {lock: "UPDATE posthouse_outbox SET due_at = due_at WHERE id = ''"},
		// SERIALIZABLE undoes a transaction that reads what other callers write. What Posthouse writes is no
		// matter: it is never SERIALIZABLE.
		Postgres: {dollar: true, clock: "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
			waiting: " AND current_setting('transaction_isolation') <> 'serializable'"},
		// At SERIALIZABLE each SELECT locks what it reads and the gaps between, which holds up Posthouse and
		// all other callers; at REPEATABLE READ the first one decides what the transaction sees from then on.
		MySQL: {clock: "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)", beside: true},
	}
}

// Bounds of looking.
const (
	lookStep    = 100             // keys of one statement
	lookTimeout = 2 * time.Second // of a look beside the caller's transaction: it is a courtesy
	generations = 4               // messages of one key within a minute that are told apart
)

// once is what there is one message of.
type once struct{ channel, key string }

// onceOf is that of a draft. One that follows a route has none here: whether its key holds is known when it is moved, since that depends on
// what has become of the message before.
func onceOf(d *posthouse.Draft) once {
	if d.Route != "" {
		return once{}
	}
	return once{d.Channel, d.DedupKey}
}

// place is where a draft goes: the message it becomes or is, and the row to write, "" for none.
type place struct{ message, row string }

// place finds the place of each draft.
func (b *Box) place(ctx context.Context, tx Execer, drafts []posthouse.Draft) ([]place, error) {
	var keys []once
	known := map[once]place{}
	for i := range drafts {
		k := onceOf(&drafts[i])
		if _, twice := known[k]; k.key != "" && !twice {
			known[k] = place{}
			keys = append(keys, k)
		}
	}
	looked, err := b.look(ctx, tx, keys, known)
	if err != nil {
		return nil, err
	}
	list := make([]place, len(drafts))
	for i := range drafts {
		k := onceOf(&drafts[i])
		if p := known[k]; k.key != "" && looked {
			list[i], known[k] = p, place{message: p.message}
			continue
		}
		id := posthouse.NewID()
		list[i] = place{id, id}
	}
	return list, nil
}

// look finds the places of keys, and reports whether it could look.
func (b *Box) look(ctx context.Context, tx Execer, keys []once, known map[once]place) (bool, error) {
	if len(keys) == 0 {
		return false, nil
	}
	if b.o.Lookup != nil {
		ctx, cancel := context.WithTimeout(ctx, b.patience)
		defer cancel()
		err := b.lookWith(ctx, listerOf(b.o.Lookup), keys, known)
		if err != nil {
			b.o.Log.Warn("dedup keys could not be looked up: their messages get ids of their own", "keys", len(keys), "error", err)
		}
		return err == nil, nil
	}
	list := listerOf(tx)
	if list == nil || b.text.beside {
		return false, nil
	}
	if b.text.lock != "" {
		if _, err := tx.ExecContext(ctx, b.text.lock); err != nil {
			return false, fmt.Errorf("begin to write into the outbox: %w", err)
		}
	}
	return true, b.lookWith(ctx, list, keys, known)
}

func (b *Box) lookWith(ctx context.Context, list list, keys []once, known map[once]place) error {
	for len(keys) > 0 {
		n := min(lookStep, len(keys))
		if err := b.lookOnce(ctx, list, keys[:n], known); err != nil {
			return fmt.Errorf("look up dedup keys: %w", err)
		}
		keys = keys[n:]
	}
	return nil
}

// lookOnce finds the places of keys with one statement.
func (b *Box) lookOnce(ctx context.Context, list list, keys []once, known map[once]place) error {
	all := b.ask(keys)
	query, args := b.question(all)
	holders, waiting, taken := map[once]string{}, map[string]string{}, map[string]bool{}
	err := list(ctx, b.text.rebind(query), args, func(scan func(...any) error) error {
		var what, channel, key, id string
		err := scan(&what, &channel, &key, &id)
		switch what {
		case "holder":
			holders[once{channel, key}] = id
		case "waiting":
			if about, _, _ := strings.Cut(id, "-"); waiting[about] == "" || id < waiting[about] {
				waiting[about] = id
			}
		case "taken":
			taken[id] = true
		}
		return err
	})
	for _, a := range all {
		waits, _ := draft.MessageOf(waiting[a.about])
		switch {
		case holders[a.once] != "":
			known[a.once] = place{message: holders[a.once]}
		case waits != "":
			known[a.once] = place{message: waits}
		default:
			known[a.once] = a.fresh(taken)
		}
	}
	return err
}

// asked is a key with how its rows' names begin, and the names that a new message of it could have.
type asked struct {
	once
	about string
	names [generations]string
}

func (b *Box) ask(keys []once) []asked {
	now := b.now()
	all := make([]asked, len(keys))
	for i, k := range keys {
		all[i] = asked{once: k, about: draft.About(b.o.Tenant, k.channel, k.key)}
		for g := range all[i].names {
			all[i].names[g] = draft.SharedID(b.o.Tenant, k.channel, k.key, now, g)
		}
	}
	return all
}

// fresh is the place of a key that stands for nothing. Those who cannot see each other find the same message.
func (a asked) fresh(taken map[string]bool) place {
	for _, id := range a.names {
		if !taken[id] {
			return place{id, draft.SharedRow(a.about, id)}
		}
	}
	id := posthouse.NewID()
	return place{id, id}
}

// question is the statement that tells which message each key stands for, which rows wait, and which of
// the names are taken.
func (b *Box) question(all []asked) (text string, args []any) {
	add := func(more string, values ...any) { text, args = text+more, append(args, values...) }
	add("SELECT 'holder', channel, dedup_key, message_id FROM posthouse_dedup WHERE tenant = ? AND expires_at >= ", b.o.Tenant)
	if b.text.clock == "" {
		add("?", b.now().UnixMicro())
	}
	add(b.text.clock + " AND (")
	for i, a := range all {
		add(or(i)+"(channel = ? AND dedup_key = ?)", a.channel, a.key)
	}
	add(") UNION ALL SELECT 'waiting', '', '', id FROM posthouse_outbox WHERE (")
	for i, a := range all {
		add(or(i)+"(id > ? AND id < ?)", a.about+"-", a.about+".")
	}
	add(")" + b.text.waiting + " UNION ALL SELECT 'taken', '', '', id FROM posthouse_messages WHERE id IN (?" + strings.Repeat(", ?", generations*len(all)-1) + ")")
	for _, a := range all {
		for _, id := range a.names {
			args = append(args, id)
		}
	}
	return text, args
}

// or stands before the condition of number i.
func or(i int) string {
	if i == 0 {
		return ""
	}
	return " OR "
}

// list is the method of Lister.
type list func(ctx context.Context, query string, args []any, row func(scan func(dest ...any) error) error) error

// listerOf is how a handle lists, nil where it cannot.
func listerOf(handle any) list {
	switch h := handle.(type) {
	case Lister:
		return h.List
	case Querier:
		return func(ctx context.Context, query string, args []any, row func(scan func(dest ...any) error) error) error {
			rows, err := h.QueryContext(ctx, query, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				if err := row(rows.Scan); err != nil {
					return err
				}
			}
			return rows.Err()
		}
	}
	return nil
}
