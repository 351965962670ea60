package channels

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/work"
)

// Fleet is the accounts of a server's channels. What it returns has its secrets masked.
type Fleet struct{ set *Set }

// Accounts are the accounts of the set's channels.
func (s *Set) Accounts() Fleet { return Fleet{s} }

// List lists a channel's accounts by name, a page at a time.
func (f Fleet) List(ctx context.Context, tenant, name, cursor string, limit int) ([]posthouse.Account, string, error) {
	ch, err := f.set.store.Channel(ctx, tenant, name)
	if err != nil {
		return nil, "", err
	}
	rows, next, err := f.set.accounts.Accounts(ctx, tenant, name, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	list, err := f.shown(ctx, ch, rows)
	return list, next, err
}

// Parked lists those of a channel's accounts that the provider refuses now, by name; the cursor is the last name of the page before.
func (f Fleet) Parked(ctx context.Context, tenant, name, cursor string, limit int) ([]posthouse.Account, string, error) {
	ch, err := f.set.store.Channel(ctx, tenant, name)
	if err != nil {
		return nil, "", err
	}
	gates, err := f.set.store.Gates(ctx, tenant)
	if err != nil {
		return nil, "", err
	}
	if limit = cmp.Or(limit, usualParked); limit > usualParked {
		limit = usualParked
	}
	var rows []work.AccountRow
	next, now := "", time.Now()
	for _, g := range gates { // by account
		if g.Channel != name || g.Account <= cursor || !now.Before(g.Until) {
			continue
		}
		if len(rows) == limit {
			next = rows[limit-1].Account.Name
			break
		}
		a, err := f.set.accounts.Account(ctx, tenant, name, g.Account)
		switch {
		case a.Name != "":
			rows = append(rows, work.AccountRow{Account: a, Err: err})
		case err != nil && posthouse.CodeOf(err) != posthouse.CodeNotFound: // one that was deleted may leave its gate
			return nil, "", err
		}
	}
	list, err := f.shown(ctx, ch, rows)
	return slices.DeleteFunc(list, func(a posthouse.Account) bool { return a.State != posthouse.AccountParked }), next, err
}

// usualParked are the parked accounts of a page: each is read by its name.
const usualParked = 50

// Get reads one account.
func (f Fleet) Get(ctx context.Context, tenant, name, account string) (posthouse.Account, error) {
	ch, err := f.set.store.Channel(ctx, tenant, name)
	if err != nil {
		return posthouse.Account{}, err
	}
	a, err := f.set.accounts.Account(ctx, tenant, name, account)
	row := work.AccountRow{Account: a}
	if err != nil {
		if a.Name == "" {
			return a, err
		}
		row.Err = err // its row cannot be read: it is shown as broken
	}
	list, err := f.shown(ctx, ch, []work.AccountRow{row})
	if err != nil {
		return a, err
	}
	return list[0], nil
}

// shown are stored accounts as they are read: secrets masked, states filled in.
func (f Fleet) shown(ctx context.Context, ch posthouse.Channel, rows []work.AccountRow) ([]posthouse.Account, error) {
	gates, err := f.set.store.Gates(ctx, ch.Tenant)
	if err != nil {
		return nil, err
	}
	refused := map[string]work.Gate{}
	for _, g := range gates {
		if g.Channel == ch.Name {
			refused[g.Account] = g
		}
	}
	t := f.set.types[ch.Driver]
	shared, unsealed := f.set.Unsealed(ch)
	list := make([]posthouse.Account, len(rows))
	for i, row := range rows {
		if row.Err == nil {
			row.Err = unsealed
		}
		if row.Err == nil {
			_, row.Err = f.set.unsealedAccount(t, &shared, row.Account)
		}
		list[i] = f.set.maskedAccount(ch.Driver, row.Account)
		stateAccount(&list[i], row.Err, refused[list[i].Name], time.Now())
	}
	return list, nil
}

// stateAccount fills in whether an account sends now, and why not. What stops it for longest comes first.
func stateAccount(a *posthouse.Account, broken error, g work.Gate, now time.Time) {
	switch {
	case broken != nil:
		a.State, a.StateReason = posthouse.AccountBroken, broken.Error()
	case a.PausedAt(now):
		a.State, a.StateReason, a.StateUntil = posthouse.AccountPaused, a.PauseReason, a.PausedUntil
	case now.Before(g.Until):
		a.State, a.StateReason, a.StateUntil = posthouse.AccountParked, parkedBecause(g), g.Until
	default:
		a.State = posthouse.AccountOpen
		a.Paused, a.PauseReason, a.PausedUntil = false, "", time.Time{} // it has gone on by itself
	}
}

// Put creates accounts or replaces them, all or none. Every problem is reported at once, each below the path of its
// account, and then nothing has changed. A masked secret stays as it was. With dry nothing is stored.
func (f Fleet) Put(ctx context.Context, tenant, name string, list []posthouse.Account, path func(i int) string, dry bool) (stored []posthouse.Account, created int, err error) {
	ch, err := f.set.store.Channel(ctx, tenant, name)
	if err != nil {
		return nil, 0, err
	}
	if !ch.Accounts {
		return nil, 0, posthouse.Errorf(posthouse.CodeConflict, "the channel %q sends by one account, its own: set accounts: true in it to give it several", name)
	}
	shared, err := f.set.Unsealed(ch)
	if err != nil {
		return nil, 0, posthouse.Errorf(posthouse.CodeConflict, "the channel cannot be opened: %w", err)
	}
	t := f.set.types[ch.Driver]
	problems, err := f.settle(ctx, t, &shared, list, path)
	if err != nil {
		return nil, 0, err
	}
	if err := posthouse.Invalid("the accounts cannot be stored", problems); err != nil {
		return nil, 0, err
	}
	if dry {
		return f.preview(ctx, ch, list)
	}
	sealed := make([]posthouse.Account, len(list))
	for i, a := range list {
		if sealed[i], err = f.set.sealedAccount(t, &shared, a); err != nil {
			return nil, 0, err
		}
	}
	stored, created, err = f.set.accounts.PutAccounts(ctx, time.Now(), tenant, name, sealed)
	if err != nil {
		return nil, 0, err
	}
	if err := f.set.Reload(ctx); err != nil {
		return nil, 0, err
	}
	out, err := f.shown(ctx, ch, rowsOf(stored))
	return out, created, err
}

func rowsOf(list []posthouse.Account) []work.AccountRow {
	rows := make([]work.AccountRow, len(list))
	for i := range list {
		rows[i].Account = list[i]
	}
	return rows
}

// settle puts the stored secrets in place of masks, and finds what is wrong with the accounts.
func (f Fleet) settle(ctx context.Context, t channel.Type, ch *posthouse.Channel, list []posthouse.Account, path func(i int) string) ([]posthouse.Problem, error) {
	known := map[string]posthouse.Account{}
	if len(list) > 1 { // few statements, however many accounts there are
		rows, err := allAccounts(ctx, f.set.accounts, ch.Tenant, ch.Name)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			known[row.Account.Name] = row.Account
		}
	} else if len(list) == 1 {
		a, err := f.set.accounts.Account(ctx, ch.Tenant, ch.Name, list[0].Name)
		if err == nil {
			known[a.Name] = a
		} else if code := posthouse.CodeOf(err); code != posthouse.CodeNotFound && code != posthouse.CodeConflict {
			return nil, err
		}
	}
	var problems []posthouse.Problem
	seen := map[string]int{}
	for i := range list {
		a := &list[i]
		a.Tenant, a.Channel = ch.Tenant, ch.Name
		found := checkAccount(a)
		if first, twice := seen[a.Name]; twice {
			found = append(found, posthouse.Problem{Path: "name", Message: fmt.Sprintf("is %q, as at %s: each account stands once", a.Name, path(first))})
		}
		seen[a.Name] = i
		a.Config = f.keptAccount(t, ch, known[a.Name], a.Config)
		found = append(found, f.tryAccount(t, ch, a)...)
		for _, p := range found {
			if len(list) > 1 && p.Path != "name" { // which says it
				p.Message = fmt.Sprintf("of the account %q %s", a.Name, p.Message)
			}
			problems = append(problems, posthouse.Problem{Path: joined(path(i), p.Path), Message: p.Message})
		}
	}
	return problems, nil
}

// joined is the path of a field below that of its account, which is empty where the body is one account.
func joined(of, field string) string {
	if of == "" {
		return field
	}
	return of + "." + field
}

// tryAccount opens the driver of an account and closes it again.
func (f Fleet) tryAccount(t channel.Type, ch *posthouse.Channel, a *posthouse.Account) []posthouse.Problem {
	config, problems := t.ValidateAccount(ch.Config, a.Config)
	if len(problems) > 0 {
		return problems
	}
	d, err := t.Open(config, f.set.env(ch, a.Name, t.CallTimeout(ch.ChannelSettings), t.Egress(config, ch.Egress)))
	if err != nil {
		return []posthouse.Problem{{Path: "config", Message: err.Error()}}
	}
	f.set.closeDriver(d)
	return nil
}

// keptAccount is a configuration with the stored secrets in place of masks. One that cannot be decrypted has none to give.
func (f Fleet) keptAccount(t channel.Type, ch *posthouse.Channel, was posthouse.Account, own map[string]any) map[string]any {
	old, err := f.set.unsealedAccount(t, ch, was)
	if err != nil {
		f.set.log.Warn("the stored secrets of an account that is replaced cannot be kept", "tenant", ch.Tenant, "channel", ch.Name, "account", was.Name, "error", err)
	}
	kept := t.Keep(t.Merge(ch.Config, old), t.Merge(ch.Config, own))
	out := make(map[string]any, len(own))
	for name := range own {
		out[name] = kept[name]
	}
	return out
}

// preview is what Put would say.
func (f Fleet) preview(ctx context.Context, ch posthouse.Channel, list []posthouse.Account) (stored []posthouse.Account, created int, err error) {
	rows, err := allAccounts(ctx, f.set.accounts, ch.Tenant, ch.Name)
	if err != nil {
		return nil, 0, err
	}
	known := map[string]bool{}
	for _, row := range rows {
		known[row.Account.Name] = true
	}
	stored = make([]posthouse.Account, len(list))
	for i, a := range list {
		stored[i] = f.set.maskedAccount(ch.Driver, a)
		if !known[a.Name] {
			created++
		}
	}
	return stored, created, nil
}

// Delete deletes an account. What is pinned to it waits until there is one of its name again, or it fails over.
func (f Fleet) Delete(ctx context.Context, tenant, name, account string) error {
	if err := f.set.accounts.DeleteAccount(ctx, time.Now(), tenant, name, account); err != nil {
		return err
	}
	return f.set.Reload(ctx)
}

// Pause stops an account's sending, until a time where one is given; what is under way finishes.
func (f Fleet) Pause(ctx context.Context, tenant, name, account, reason string, until time.Time) error {
	if err := f.set.accounts.PauseAccount(ctx, time.Now(), tenant, name, account, true, reason, until); err != nil {
		return err
	}
	return f.set.Reload(ctx)
}

// Resume lets an account send again, also where its provider had refused it.
func (f Fleet) Resume(ctx context.Context, tenant, name, account string) error {
	if err := f.set.accounts.PauseAccount(ctx, time.Now(), tenant, name, account, false, "", time.Time{}); err != nil {
		return err
	}
	return f.set.Reload(ctx)
}

// Test is Set.Test by one account.
func (f Fleet) Test(ctx context.Context, tenant, name, account string, out channel.Outgoing, by work.Caller, anybody bool) (channel.Outgoing, channel.Result, error) {
	ch, err := f.set.store.Channel(ctx, tenant, name)
	if err != nil {
		return out, channel.Result{}, err
	}
	a, err := f.set.accounts.Account(ctx, tenant, name, account)
	if err != nil {
		return out, channel.Result{}, err
	}
	opened, err := f.set.OpenStored(ch)
	if err == nil {
		err = f.set.OpenAccounts(ch, &opened, rowsOf([]posthouse.Account{a}))
	}
	if err == nil {
		err = opened.Accounts[0].Err
	}
	if err != nil {
		return out, channel.Result{}, posthouse.Errorf(posthouse.CodeConflict, "the account cannot be opened: %w", err)
	}
	defer f.set.Close(opened)
	out.Account = account
	return f.set.try(ctx, ch, opened, opened.Accounts[0].Driver(), out, by, anybody)
}
