package server

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/channels"
	"github.com/posthouse/posthouse/internal/feed"
	"github.com/posthouse/posthouse/internal/inbound"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/work"
)

// resealEvery is the time between two looks for what is sealed with an old key: a process that does not know the new one
// yet goes on sealing with the old.
const resealEvery = time.Hour

// resealStep bounds what one look reads at once.
const resealStep = 200

// sealedRows is what the resealer needs of the database.
type sealedRows interface {
	SealedOtherwise(ctx context.Context, start, after string, max int) ([]work.Sealed, error)
	Reseal(ctx context.Context, now time.Time, old work.Sealed, body string) error
	Channels(ctx context.Context, tenant string) ([]work.ChannelRow, error)
	ResealChannel(ctx context.Context, now time.Time, ch posthouse.Channel) error
	Accounts(ctx context.Context, tenant, channel, cursor string, limit int) (list []work.AccountRow, next string, err error)
	ResealAccount(ctx context.Context, now time.Time, a posthouse.Account) error
}

// sealedCodes is what it needs of the secrets of one-time codes.
type sealedCodes interface {
	SealedTOTPs(ctx context.Context) ([]work.SealedTOTP, error)
	ResealTOTP(ctx context.Context, now time.Time, old work.SealedTOTP, secret string) error
}

// sealedCalls is what it needs of what came at fronts.
type sealedCalls interface {
	SealedCalls(ctx context.Context, start, after string, most int) ([]work.FrontCall, error)
	ResealCall(ctx context.Context, now time.Time, old work.FrontCall, body string) error
}

// sealedHooks is what it needs of the signing keys of subscriptions.
type sealedHooks interface {
	SealedSecrets(ctx context.Context) ([]work.SealedSecrets, error)
	ResealSecrets(ctx context.Context, now time.Time, old work.SealedSecrets, secrets string) error
}

// resealer seals with the newest key what was sealed with an older one, so that the older one can be removed.
type resealer struct {
	rows    sealedRows
	codes   sealedCodes
	fronts  sealedCalls
	hooks   sealedHooks
	keyring *secret.Keyring
	opener  *channels.Opener
	log     *slog.Logger
}

// old reports whether a key is not the newest.
func (r resealer) old(key string) bool {
	ids := r.keyring.IDs()
	return key != ids[len(ids)-1]
}

// run looks once, and again each hour until ctx ends. With one key there is nothing to do.
func (r resealer) run(ctx context.Context) {
	if len(r.keyring.IDs()) < 2 {
		return
	}
	tick := time.NewTicker(resealEvery)
	defer tick.Stop()
	for {
		n, err := r.reseal(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.log.Warn("what an old key sealed cannot be sealed anew now", "error", err)
		case n > 0:
			r.log.Info("sealed anew with the newest key: posthouse doctor says which keys are still needed", "texts", n)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// reseal seals all of it anew and returns how much it was. What no key opens stays as it is.
func (r resealer) reseal(ctx context.Context) (int, error) {
	n, err := r.channels(ctx)
	if err != nil {
		return n, err
	}
	done, err := r.totps(ctx)
	if n += done; err != nil {
		return n, err
	}
	done, err = r.secrets(ctx)
	if n += done; err != nil {
		return n, err
	}
	done, err = r.calls(ctx)
	if n += done; err != nil {
		return n, err
	}
	for after := ""; ; {
		list, err := r.rows.SealedOtherwise(ctx, r.keyring.Start(), after, resealStep)
		if err != nil || len(list) == 0 {
			return n, err
		}
		for _, old := range list {
			after = old.Message
			err := r.anew(&n, old.Body, secret.MessagePlace(old.Tenant, old.Message), func(text string) error { return r.rows.Reseal(ctx, time.Now(), old, text) })
			if err != nil {
				return n, err
			}
		}
	}
}

func (r resealer) channels(ctx context.Context) (n int, err error) {
	rows, err := r.rows.Channels(ctx, "")
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		if row.Err != nil || !slices.ContainsFunc(r.opener.Keys(row.Channel), r.old) {
			continue
		}
		clear, err := r.opener.Unsealed(row.Channel)
		if err != nil {
			continue // /readyz names the channel
		}
		anew, err := r.opener.Sealed(clear)
		if err == nil {
			err = r.rows.ResealChannel(ctx, time.Now(), anew)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	for _, row := range rows {
		if row.Err != nil || !row.Channel.Accounts {
			continue
		}
		done, err := r.accounts(ctx, row.Channel)
		if n += done; err != nil {
			return n, err
		}
	}
	return n, nil
}

// accounts seals the secrets of a channel's accounts anew.
func (r resealer) accounts(ctx context.Context, ch posthouse.Channel) (n int, err error) {
	for cursor := ""; ; {
		rows, next, err := r.rows.Accounts(ctx, ch.Tenant, ch.Name, cursor, resealStep)
		if err != nil {
			return n, err
		}
		for _, row := range rows {
			if row.Err != nil || !slices.ContainsFunc(r.opener.AccountKeys(ch.Driver, row.Account), r.old) {
				continue
			}
			anew, err := r.opener.ResealedAccount(ch, row.Account)
			if err != nil {
				continue // its state says so
			}
			if err := r.rows.ResealAccount(ctx, time.Now(), anew); err != nil {
				return n, err
			}
			n++
		}
		if cursor = next; cursor == "" {
			return n, nil
		}
	}
}

// totps seals the secrets of people's one-time codes anew. The sign-in says what cannot be opened.
func (r resealer) totps(ctx context.Context) (n int, err error) {
	list, err := r.codes.SealedTOTPs(ctx)
	for i := 0; i < len(list) && err == nil; i++ {
		old := list[i]
		err = r.anew(&n, old.Secret, secret.AAD("totp", old.Person), func(text string) error { return r.codes.ResealTOTP(ctx, time.Now(), old, text) })
	}
	return n, err
}

// secrets seals the signing keys of subscriptions anew. A subscription's state says what cannot be opened.
func (r resealer) secrets(ctx context.Context) (n int, err error) {
	list, err := r.hooks.SealedSecrets(ctx)
	for i := 0; i < len(list) && err == nil; i++ {
		old := list[i]
		err = r.anew(&n, old.Secrets, feed.SealedAt(old.Subscription), func(text string) error { return r.hooks.ResealSecrets(ctx, time.Now(), old, text) })
	}
	return n, err
}

// anew stores a text sealed with the newest key, and counts it, where another key has sealed it. What no key opens stays as it is.
func (r resealer) anew(n *int, sealed, place string, store func(text string) error) error {
	if r.keyring.Current(sealed) {
		return nil
	}
	plain, err := r.keyring.Open(sealed, place)
	if err != nil {
		return nil //nolint:nilerr // who needs it says so
	}
	text, err := r.keyring.Seal(plain, place)
	if err == nil {
		err = store(text)
	}
	if err == nil {
		*n++
	}
	return err
}

// calls seals anew what came at fronts.
func (r resealer) calls(ctx context.Context) (n int, err error) {
	for after := ""; ; {
		list, err := r.fronts.SealedCalls(ctx, r.keyring.Start(), after, resealStep)
		if err != nil || len(list) == 0 {
			return n, err
		}
		for _, old := range list {
			after = old.ID
			err := r.anew(&n, old.Body, inbound.SealedFor(old.Tenant, old.Front, old.ID), func(text string) error { return r.fronts.ResealCall(ctx, time.Now(), old, text) })
			if err != nil {
				return n, err
			}
		}
	}
}
