package channels

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// AccountStore keeps the accounts of channels.
type AccountStore interface {
	accountReads
	accountWrites
}

type accountReads interface {
	Account(ctx context.Context, tenant, channel, name string) (posthouse.Account, error)
	Accounts(ctx context.Context, tenant, channel, cursor string, limit int) (list []work.AccountRow, next string, err error)
}

type accountWrites interface {
	PutAccounts(ctx context.Context, now time.Time, tenant, channel string, list []posthouse.Account) (stored []posthouse.Account, created int, err error)
	DeleteAccount(ctx context.Context, now time.Time, tenant, channel, name string) error
	PauseAccount(ctx context.Context, now time.Time, tenant, channel, name string, paused bool, reason string, until time.Time) error
}

// accountPage is how many accounts are read at once.
const accountPage = 1000

// allAccounts reads the accounts of a channel, by name.
func allAccounts(ctx context.Context, store accountReads, tenant, name string) ([]work.AccountRow, error) {
	var rows []work.AccountRow
	for cursor := ""; ; {
		part, next, err := store.Accounts(ctx, tenant, name, cursor, accountPage)
		if err != nil {
			return nil, err
		}
		rows = append(rows, part...)
		if cursor = next; cursor == "" {
			return rows, nil
		}
	}
}

// OpenAccounts adds the accounts of a stored channel to what is open of it. One that cannot be used says so in its Err; the
// others go on.
func (p *Opener) OpenAccounts(ch posthouse.Channel, o *state.Opened, rows []work.AccountRow) error {
	t, err := p.typeOf(ch)
	if err != nil {
		return err
	}
	shared, err := p.Unsealed(ch)
	if err != nil {
		return err
	}
	for _, row := range rows {
		a := &state.Account{Account: row.Account, Err: row.Err}
		a.Config = nil
		own := map[string]any{}
		if a.Err == nil {
			own, a.Err = p.unsealedAccount(t, &shared, row.Account)
		}
		a.Opener = func() (channel.Driver, error) { return p.openAccount(t, &shared, row.Account.Name, own, o.Timeout) }
		o.Accounts = append(o.Accounts, a)
	}
	return nil
}

func (p *Opener) openAccount(t channel.Type, ch *posthouse.Channel, name string, own map[string]any, timeout time.Duration) (channel.Driver, error) {
	config, problems := t.ValidateAccount(ch.Config, own)
	if err := posthouse.Invalid("its configuration is not valid", problems); err != nil {
		return nil, err
	}
	return t.Open(config, p.env(ch, name, timeout, t.Egress(config, ch.Egress)))
}

// place is what a secret of an account is bound to: its account, and where the channel sends it. A channel that goes
// elsewhere now has no use of it.
func place(t channel.Type, shared *posthouse.Channel, a *posthouse.Account, field string) string {
	return secret.AAD(a.Tenant, a.Channel, "account", a.Name, field, destination(t, shared, a))
}

// destination is all by which a channel decides to whom it sends the secrets of an account.
func destination(t channel.Type, shared *posthouse.Channel, a *posthouse.Account) string {
	return t.Destination(t.Merge(shared.Config, a.Config)) + recipients(shared.Egress)
}

// recipients is which recipients' addresses a channel calls, as a text that can be compared.
func recipients(e *posthouse.Egress) string {
	if e == nil || !e.RecipientURLs {
		return ""
	}
	return fmt.Sprint("\nrecipients at ", slices.Sorted(slices.Values(e.Hosts)), slices.Sorted(slices.Values(e.Ports)))
}

// sealedAccount encrypts the secrets of an account's configuration.
func (p *Opener) sealedAccount(t channel.Type, shared *posthouse.Channel, a posthouse.Account) (posthouse.Account, error) {
	config, err := t.MapSecrets(a.Config, func(name, value string) (string, error) {
		return p.o.Keyring.Seal(value, place(t, shared, &a, name))
	})
	a.Config = config
	return a, err
}

// unsealedAccount is the configuration of a stored account with its secrets in clear.
func (p *Opener) unsealedAccount(t channel.Type, shared *posthouse.Channel, a posthouse.Account) (map[string]any, error) {
	return t.MapSecrets(a.Config, func(name, value string) (string, error) {
		plain, err := p.o.Keyring.Open(value, place(t, shared, &a, name))
		if err != nil {
			return "", fmt.Errorf("the secret %s cannot be decrypted: the keyring has no such key, or the channel sends elsewhere since it was given (%s); put the account anew",
				name, strings.ReplaceAll(destination(t, shared, &a), "\n", " "))
		}
		return plain, nil
	})
}

// maskedAccount is a stored account as it may be shown.
func (p *Opener) maskedAccount(driver string, a posthouse.Account) posthouse.Account {
	if t, ok := p.types[driver]; ok {
		a.Config = t.Redact(a.Config)
	} else {
		a.Config = nil // nobody can say what is secret in it
	}
	return a
}

// AccountKeys are the ids of the keys that sealed the secrets of a stored account of a channel with a driver.
func (p *Opener) AccountKeys(driver string, a posthouse.Account) []string {
	return KeysOf(p.types[driver], posthouse.Channel{Config: a.Config})
}

// ResealedAccount is a stored account with its secrets sealed by the newest key.
func (p *Opener) ResealedAccount(ch posthouse.Channel, a posthouse.Account) (posthouse.Account, error) {
	t, err := p.typeOf(ch)
	if err != nil {
		return a, err
	}
	shared, err := p.Unsealed(ch)
	if err != nil {
		return a, err
	}
	if a.Config, err = p.unsealedAccount(t, &shared, a); err != nil {
		return a, err
	}
	return p.sealedAccount(t, &shared, a)
}
