package local

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/channels"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/store"
)

// examineKeys says whether the keyring is the database's, and which of its keys are still needed.
func examineKeys(ctx context.Context, s *store.Store, ring *secret.Keyring, c config.Config) []finding {
	mark, err := s.Keys.KeyringMark(ctx)
	if err != nil {
		return []finding{{"keys", false, err.Error()}}
	}
	if mark != "" {
		if err := ring.Knows(mark); err != nil {
			return []finding{{"keys", false, "the keyring is not this database's: " + err.Error()}}
		}
	}
	needed, err := neededKeys(ctx, s, c)
	if err != nil {
		return []finding{{"keys", false, err.Error()}}
	}
	needed[secret.KeyOf(mark)]++
	delete(needed, "") // what is not sealed: channels say so
	return verdicts(ring.IDs(), needed)
}

// keyUnneeded is said of an old key by which nothing stored is sealed. How many links it has made nobody counts: the longest hold for
// preferences.Valid.
const keyUnneeded = "nothing stored needs it any more, and links in messages do for up to 90 days: once a newer key has served for so long, remove it from the keyring of each process"

// verdicts are what is to be said of a keyring's keys, the newest last, given how many texts need each.
func verdicts(ids []string, needed map[string]int) []finding {
	var out []finding
	for _, id := range slices.Sorted(maps.Keys(needed)) {
		if !slices.Contains(ids, id) {
			out = append(out, finding{"key " + id, false, fmt.Sprintf("the keyring lacks it, and %d sealed texts need it: put it back, or they cannot be read", needed[id])})
		}
	}
	for _, id := range ids[:len(ids)-1] {
		detail := keyUnneeded
		if needed[id] > 0 {
			detail = fmt.Sprintf("%d sealed texts need it: keep it; a running server seals them anew with the newest key", needed[id])
		}
		out = append(out, finding{"key " + id, true, detail})
	}
	return out
}

// neededKeys counts the sealed texts by the key that opens them. Access tokens are left out: they are fetched anew.
func neededKeys(ctx context.Context, s *store.Store, c config.Config) (map[string]int, error) {
	needed := map[string]int{}
	starts, err := s.Contents.SealedStarts(ctx)
	if err != nil {
		return nil, err
	}
	for _, text := range starts {
		needed[secret.KeyOf(text)]++
	}
	codes, err := s.People.SealedTOTPs(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range codes {
		needed[secret.KeyOf(one.Secret)]++
	}
	calls, err := s.Fronts.SealedStarts(ctx)
	if err != nil {
		return nil, err
	}
	for _, text := range calls {
		needed[secret.KeyOf(text)]++
	}
	hooks, err := s.Subscriptions.SealedSecrets(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range hooks {
		needed[secret.KeyOf(one.Secrets)]++
	}
	rows, err := s.Channels.Channels(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		for _, t := range drivers(c) {
			if t.Name == row.Channel.Driver && row.Err == nil {
				if err := needOf(ctx, s, t, row.Channel, needed); err != nil {
					return nil, err
				}
			}
		}
	}
	return needed, nil
}

// needOf counts the secrets of a channel and its accounts by the key that opens them.
func needOf(ctx context.Context, s *store.Store, t channel.Type, ch posthouse.Channel, needed map[string]int) error {
	for _, id := range channels.KeysOf(t, ch) {
		needed[id]++
	}
	for cursor := ""; ; {
		rows, next, err := s.Accounts.Accounts(ctx, ch.Tenant, ch.Name, cursor, 0)
		if err != nil {
			return err
		}
		for _, row := range rows {
			for _, id := range channels.KeysOf(t, posthouse.Channel{Config: row.Account.Config}) {
				needed[id]++
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}
