package feed

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/posthouse/posthouse/internal/hook"
	"github.com/posthouse/posthouse/internal/secret"
)

// Sealer seals what a reader of the database must not see.
type Sealer interface {
	Seal(plain, aad string) (string, error)
	Open(text, aad string) (string, error)
}

// Secrets are the signing keys of a subscription: the newest first, and an older one until its time is over.
type Secrets []Secret

// Secret is one signing key.
type Secret struct {
	Key   string    `json:"key"` // with whsec_
	Until time.Time `json:"until,omitzero"`
}

// SealedAt is the place that sealed secrets belong to: they open nowhere else.
func SealedAt(subscription string) string { return secret.AAD("subscription", subscription) }

// Seal seals them for their subscription.
func (s Secrets) Seal(with Sealer, subscription string) (string, error) {
	text, _ := json.Marshal(s) // texts and times: cannot fail
	return with.Seal(string(text), SealedAt(subscription))
}

// OpenSecrets reads what Seal wrote.
func OpenSecrets(with Sealer, sealed, subscription string) (s Secrets, err error) {
	text, err := with.Open(sealed, SealedAt(subscription))
	if err == nil {
		err = json.Unmarshal([]byte(text), &s)
	}
	if err != nil {
		return nil, fmt.Errorf("open the signing keys of subscription %s: %w", subscription, err)
	}
	return s, nil
}

// Rotate puts a new key first. The one before signs too, for an overlap; older ones end.
func (s Secrets) Rotate(key string, now time.Time, overlap time.Duration) Secrets {
	out := Secrets{{Key: key}}
	if len(s) > 0 && overlap > 0 {
		out = append(out, Secret{Key: s[0].Key, Until: now.Add(overlap)})
	}
	return out
}

// live are the keys that sign now.
func (s Secrets) live(now time.Time) (keys [][]byte, err error) {
	for _, one := range s {
		if !one.Until.IsZero() && !now.Before(one.Until) {
			continue
		}
		key, err := hook.ParseSecret(one.Key)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}
