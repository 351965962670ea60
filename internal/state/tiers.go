package state

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/quiet"
	"github.com/posthouse/posthouse/internal/work"
)

// Tiers are the windows that hold besides those of the channel.
type Tiers struct {
	Account   []posthouse.Limit // of each account without its own
	Type      map[posthouse.ContentType][]posthouse.Limit
	Recipient []posthouse.Limit
	Template  map[string][]posthouse.Limit
	Caps      []*quiet.Cap
}

// AnyTemplate names the windows of templates that have none by their name.
const AnyTemplate = "*"

// A Tier is what a limit counts: the word for it, and what the state machine says of a delivery that waits for it.
type Tier struct {
	Name, Reason string
	limit.Bound
	// Limits are the windows as they are set. The first of the bound's windows are those, in their order.
	Limits []posthouse.Limit
	// Spends is the budget that it counts, nil for none.
	Spends *Spends
	// Ends says that what is beyond it is not sent. Else it waits.
	Ends bool
}

// TierOf is a tier by the limits that are set.
func TierOf(name, reason, key string, limits []posthouse.Limit) Tier {
	return Tier{Name: name, Reason: reason, Bound: limit.Bound{Key: key, Windows: limit.Spaced(limits)}, Limits: limits}
}

// Meant is the limit as it was set that a window of the tier holds.
func (t *Tier) Meant(held posthouse.Limit) posthouse.Limit {
	if i := slices.Index(t.Windows, held); i >= 0 && i < len(t.Limits) {
		return t.Limits[i]
	}
	return held
}

// usualJitter is by how much the times differ that calls take to a provider: measured over the internet, with some to spare.
const usualJitter = posthouse.Duration(80 * time.Millisecond)

// Jittered are limits with the usual jitter where they name none and are of a second or more: shorter ones would lose too much.
func Jittered(limits []posthouse.Limit) []posthouse.Limit {
	if limits == nil {
		return nil
	}
	list := slices.Clone(limits)
	for i := range list {
		if jitter := usualJitter; list[i].Jitter == nil && list[i].Per >= posthouse.Duration(time.Second) {
			list[i].Jitter = &jitter
		}
	}
	return list
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
	TierCap       = "cap"
	TierBudget    = "budget"
)

// limit fills in the windows of all tiers.
func (s *Settings) limit(ch *posthouse.Channel, o Opened) {
	s.Tiers = Tiers{Account: ch.AccountLimits, Type: ch.TypeLimits, Recipient: ch.RecipientLimits, Template: ch.TemplateLimits, Caps: quiet.CapsOf(ch.Caps)}
	if s.Limits == nil {
		s.Limits = o.Limits
	}
	if s.Tiers.Account == nil {
		s.Tiers.Account = o.AccountLimits
	}
	if s.Tiers.Recipient == nil {
		s.Tiers.Recipient = o.RecipientLimits
	}
	s.Limits, s.Tiers.Account, s.Tiers.Recipient = Jittered(s.Limits), Jittered(s.Tiers.Account), Jittered(s.Tiers.Recipient)
	s.Tiers.Type, s.Tiers.Template = jittered(s.Tiers.Type), jittered(s.Tiers.Template)
}

// LimitsOf are the windows of an account: its own, or those of each account where it names none.
func (s *Settings) LimitsOf(a *Account) []posthouse.Limit {
	if a.Limits == nil {
		return s.Tiers.Account
	}
	return Jittered(a.Limits)
}

func jittered[K comparable](all map[K][]posthouse.Limit) map[K][]posthouse.Limit {
	out := make(map[K][]posthouse.Limit, len(all))
	for k, list := range all {
		out[k] = Jittered(list)
	}
	return out
}

// Apart reports whether there are windows that differ between the deliveries of a claim.
func (t *Tiers) Apart() bool {
	return len(t.Type) > 0 || len(t.Recipient) > 0 || len(t.Template) > 0 || len(t.Caps) > 0
}

// CapsOf are the caps that count a message to a person: those of a channel, which knows people by their addresses, and those of its tenant,
// which knows them by their ids where they have any. What is critical is not counted, and what is counted already is not again.
func CapsOf(k Key, channels, tenants []*quiet.Cap, item *work.Item) (list []Tier) {
	if len(channels)+len(tenants) == 0 || item.Message == nil || item.Message.Critical || capped(item.Delivery) {
		return nil
	}
	add := func(caps []*quiet.Cap, scope, person string) {
		for _, c := range caps {
			if c.Counts(item.Message.Kind) {
				tier := TierOf(TierCap, ReasonCapped, c.Key(scope, person), c.Windows)
				tier.Ends = c.Ends
				list = append(list, tier)
			}
		}
	}
	d := &item.Delivery
	add(channels, k.LimitKey(), cmp.Or(d.Address, d.User))
	add(tenants, TenantKey(k.Tenant), cmp.Or(d.User, d.Address))
	return list
}

// HeldBy is the reason of the tier whose window has refused a permit, and why nothing is sent at all where that tier ends what is beyond it.
func HeldBy(tiers []Tier, g limit.Grant) (reason, why string) {
	for i := range tiers {
		t := &tiers[i]
		if t.Key != g.Key {
			continue
		}
		if reason = t.Reason; t.Ends {
			return reason, CappedAt(t.Meant(g.Held))
		}
	}
	return reason, ""
}

// capped reports whether caps have counted a delivery, and nothing has come back: it is a repeat of what may have arrived, or of what
// a person or a query says has not. Of one that has lost a lease nobody knows: its worker may have been gone between the start and the
// question, so it is asked again, and rather counted twice.
func capped(d posthouse.Delivery) bool {
	return d.ClaimLosses == 0 && (Doubtful(d) || d.Attempts > 0 && (d.Reason == ReasonRetry || d.Reason == reasonAbsent))
}

// CapsIn is the part of a grant that caps have counted.
func CapsIn(g limit.Grant) limit.Grant { return g.Part(quiet.IsKey) }

// BudgetsIn is the part of a grant that budgets have counted.
func BudgetsIn(g limit.Grant) limit.Grant {
	return g.Part(func(key string) bool { return strings.Contains(key, budgetKey) })
}

// Unsent reports whether a result says that nothing has reached the recipient.
func Unsent(class posthouse.Class) bool {
	return class.Valid() && class != posthouse.ClassOK && class != posthouse.ClassUnknown
}

// Of are the windows that hold for one delivery by one account, and not for all of its claim.
func (t *Tiers) Of(k Key, account string, item *work.Item) []Tier {
	var list []Tier
	add := func(name, reason, key string, windows []posthouse.Limit) {
		if len(windows) > 0 {
			list = append(list, TierOf(name, reason, key, windows))
		}
	}
	if m := item.Message; m != nil {
		kind := m.Content.Kind()
		add(TierType, ReasonLimitType, k.LimitKey()+":type:"+account+":"+string(kind), t.Type[kind])
		add(TierTemplate, ReasonLimitTemplate, k.LimitKey()+":template:"+m.Template, t.OfTemplate(m.Template))
	}
	return append(list, t.OfRecipient(k, &item.Delivery)...)
}

// OfTemplate are the windows of a template, none for a content without one.
func (t *Tiers) OfTemplate(name string) []posthouse.Limit {
	windows, named := t.Template[name]
	if !named && name != "" {
		windows = t.Template[AnyTemplate]
	}
	return windows
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
	return []Tier{TierOf(TierRecipient, ReasonLimitRecipient, key, t.Recipient)}
}

// LimitKey names the limits of a channel. No name of a channel has a colon or a slash: what follows one is a part of it.
func (k Key) LimitKey() string { return k.Tenant + "/" + k.Channel }

// AccountKey names the limits of an account of a channel.
func (k Key) AccountKey(account string) string { return k.LimitKey() + "/" + account }

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
	case ReasonCapped:
		return TierCap
	}
	return ""
}
