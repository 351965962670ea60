package state

import (
	"crypto/sha256"
	"encoding/base64"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/work"
)

// Tiers are the windows that hold besides those of the channel.
type Tiers struct {
	Account   []posthouse.Limit // of each account without its own
	Type      map[posthouse.ContentType][]posthouse.Limit
	Recipient []posthouse.Limit
	Template  map[string][]posthouse.Limit
}

// AnyTemplate names the windows of templates that have none by their name.
const AnyTemplate = "*"

// A Tier is what a limit counts: the word for it, and what the state machine says of a delivery that waits for it.
type Tier struct {
	Name, Reason string
	limit.Bound
}

// Counted is a tier with the account whose sends it counts: empty where those of all are, or there is one without a name.
type Counted struct {
	Account string
	Tier
}

// The tiers.
const (
	TierTenant    = "tenant"
	TierChannel   = "channel"
	TierAccount   = "account"
	TierType      = "content type"
	TierRecipient = "recipient"
	TierTemplate  = "template"
	TierRate      = "rate"
)

// limit fills in the windows of all tiers.
func (s *Settings) limit(ch *posthouse.Channel, o Opened) {
	s.Tiers = Tiers{Account: ch.AccountLimits, Type: ch.TypeLimits, Recipient: ch.RecipientLimits, Template: ch.TemplateLimits}
	if s.Limits == nil {
		s.Limits = o.Limits
	}
	if s.Tiers.Account == nil {
		s.Tiers.Account = o.AccountLimits
	}
	if s.Tiers.Recipient == nil {
		s.Tiers.Recipient = o.RecipientLimits
	}
}

// Apart reports whether there are windows that differ between the deliveries of a claim.
func (t *Tiers) Apart() bool {
	return len(t.Type) > 0 || len(t.Recipient) > 0 || len(t.Template) > 0
}

// Of are the windows that hold for one delivery by one account, and not for all of its claim.
func (t *Tiers) Of(k Key, account string, item *work.Item) []Tier {
	var list []Tier
	add := func(name, reason, key string, windows []posthouse.Limit) {
		if len(windows) > 0 {
			list = append(list, Tier{name, reason, limit.Bound{Key: key, Windows: windows}})
		}
	}
	if m := item.Message; m != nil {
		kind := m.Content.Kind()
		add(TierType, ReasonLimitType, k.LimitKey()+":type:"+account+":"+string(kind), t.Type[kind])
		if windows, named := t.Template[m.Template]; named {
			add(TierTemplate, ReasonLimitTemplate, k.LimitKey()+":template:"+m.Template, windows)
		} else if m.Template != "" {
			add(TierTemplate, ReasonLimitTemplate, k.LimitKey()+":template:"+m.Template, t.Template[AnyTemplate])
		}
	}
	return append(list, t.OfRecipient(k, &item.Delivery)...)
}

// OfRecipient are the windows of a delivery's recipient.
func (t *Tiers) OfRecipient(k Key, d *posthouse.Delivery) []Tier {
	if len(t.Recipient) == 0 {
		return nil
	}
	to := d.Address
	if to == "" {
		to = d.User
	}
	sum := sha256.Sum256([]byte(to)) // an address can be long, and is nobody's business in a table of limits
	key := k.LimitKey() + ":to:" + base64.RawURLEncoding.EncodeToString(sum[:15])
	return []Tier{{TierRecipient, ReasonLimitRecipient, limit.Bound{Key: key, Windows: t.Recipient}}}
}

// LimitKey names the limits of a channel. No name of a channel has a colon or a slash: what follows one is a part of it.
func (k Key) LimitKey() string { return k.Tenant + "/" + k.Channel }

// TenantKey names the limits of a tenant.
func TenantKey(tenant string) string { return tenant + "/*" }

// Waits is the tier that a reason names, empty for another reason.
func Waits(reason string) (tier string) {
	switch reason {
	case ReasonLimitType:
		return TierType
	case ReasonLimitRecipient:
		return TierRecipient
	case ReasonLimitTemplate:
		return TierTemplate
	}
	return ""
}
