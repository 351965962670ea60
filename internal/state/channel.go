package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/rule"
)

// Key names a channel.
type Key struct{ Tenant, Channel string }

// KeyOf names the channel of a delivery.
func KeyOf(d *posthouse.Delivery) Key { return Key{d.Tenant, d.Channel} }

// Opened is a channel's driver, open and ready.
type Opened struct {
	Driver   channel.Driver
	MaxBatch int
	Window   time.Duration // how long the provider remembers an idempotency key
	Timeout  time.Duration
	// Limits are the driver's, by tier.
	Limits, AccountLimits, RecipientLimits []posthouse.Limit
	// OwnAddresses is set where a user's id is never an address.
	OwnAddresses bool
	// Presser says how whoever an event names stands to an address; nil for not known.
	Presser func(address string, e *posthouse.CallbackEvent) channel.Presser
	// Receipts is set where the provider says of each message what became of it.
	Receipts bool
	// Answers is set where what recipients send back comes here.
	Answers bool
	// Calls is set where a text is read aloud in a call.
	Calls bool
	// Pull hands the channel's deliveries to agents instead of the driver.
	Pull bool
	// Accounts are those that the channel sends by where it has accounts of its own, by name. Driver is then one without the
	// fields that are an account's: it tells what the driver can, and sends nothing.
	Accounts []*Account
	// Content says what the driver cannot send of a content. Defaults to taking any.
	Content func(content posthouse.Content) []posthouse.Problem
	// Parameters says what the provider refuses of the parameters of one of its templates. Nil for nothing.
	Parameters func(payload json.RawMessage) []posthouse.Problem
	// Takes says what the provider takes as a parameter of one of its templates. Nil for nothing.
	Takes func(parameter string) string
	// Address is an address as the channel keeps it, or why it is none. Defaults to taking any.
	Address func(address string) (string, error)
	// Addresses is what the addresses are, empty for not known.
	Addresses channel.AddressKind
	// Shares is the driver's: whether a delivery of a content to an address may share a call with those of other messages. Nil for never.
	Shares func(content posthouse.Content, address string) bool
	// Everybody names the field by which a delivery calls everybody, empty for none. Defaults to channel.Everybody.
	Everybody func(out channel.Outgoing) (field string)
	// Names are the members of a payload that the channel's configuration asks for.
	Names []string
}

// Drivers are the drivers that are open.
func (o *Opened) Drivers() []channel.Driver {
	var list []channel.Driver
	if o.Driver != nil {
		list = append(list, o.Driver)
	}
	for _, a := range o.Accounts {
		if d := a.opened(); d != nil {
			list = append(list, d)
		}
	}
	return list
}

// Close ends the connections of all accounts.
func (o *Opened) Close() error {
	var errs []error
	for _, d := range o.Drivers() {
		if closer, ok := d.(io.Closer); ok {
			errs = append(errs, closer.Close())
		}
	}
	return errors.Join(errs...)
}

// By is the driver of an account. What was sent by an account that is there no more is the first one's to answer for.
func (o *Opened) By(account string) channel.Driver {
	if a := o.Account(account); a != nil {
		return a.Driver()
	}
	if len(o.Accounts) > 0 && account != "" {
		return o.Accounts[0].Driver()
	}
	return o.Driver
}

// Channel is a channel that is ready to be used. It never changes: one that is set anew is another.
type Channel struct {
	Key      Key
	Stored   posthouse.Channel // as a person has set it
	Settings Settings
	Opened   Opened
	Rules    rule.Rule // nil without rules
}

// Open makes a channel of what is stored of it and its open driver. The error says which setting cannot work.
func Open(ch posthouse.Channel, o Opened, env rule.Env, zone *time.Location) (*Channel, error) {
	s, err := Resolve(ch, o, zone)
	if err != nil {
		return nil, err
	}
	rules, err := buildRules(s.Rules, env, s.Location)
	if err != nil {
		return nil, err
	}
	return &Channel{Key: Key{ch.Tenant, ch.Name}, Stored: ch, Settings: s, Opened: o, Rules: rules}, nil
}

// buildRules makes the chain of a channel's rules.
func buildRules(list []posthouse.RuleSettings, env rule.Env, zone *time.Location) (rule.Rule, error) {
	if len(list) == 0 {
		return nil, nil
	}
	env.TimeZone = zone.String()
	built, problems := rule.Build(list, env)
	return built, posthouse.Invalid("the channel's rules cannot be followed", problems)
}

// Cautious are the settings of a channel that cannot be opened.
func Cautious(zone *time.Location) *Settings {
	s, _ := Resolve(posthouse.Channel{}, Opened{}, zone) // has nothing that could be wrong
	return &s
}

// Queries reports whether the driver can be asked about an attempt.
func (c *Channel) Queries() bool {
	if c.Settings.Pulled {
		return false // an agent has sent it
	}
	_, ok := c.Opened.By("").(channel.Querier)
	return ok
}

// Address is a recipient's address as the channel keeps it.
func (c *Channel) Address(to posthouse.Recipient, known map[string]string) (string, error) {
	to.Address = cmp.Or(to.Address, known[to.User])
	return c.Opened.Address(c.Addressed(to).Address)
}

// Kept is an address as the channel keeps it; one that it does not take stays as it is.
func (c *Channel) Kept(address string) string {
	if c.Opened.Address == nil || address == "" {
		return address
	}
	kept, err := c.Opened.Address(address)
	if err != nil {
		return address
	}
	return kept
}

// Names reports whether a user's id is by itself a way to write an address that the channel keeps.
func (c *Channel) Names(user, address string) bool {
	if c.Opened.OwnAddresses || c.Opened.Address == nil {
		return false
	}
	kept, err := c.Opened.Address(user)
	return err == nil && kept == address
}

// Addressed is a recipient as the driver sees him: his id is his address where there is none, but for
// drivers with addresses of their own.
func (c *Channel) Addressed(to posthouse.Recipient) posthouse.Recipient {
	if !c.Opened.OwnAddresses {
		to.Address = cmp.Or(to.Address, to.User)
	}
	return to
}

// CallsEverybody names the field by which a delivery calls everybody whom the channel reaches, empty for one that does not.
func (o *Opened) CallsEverybody(out channel.Outgoing) (field string) {
	if o.Everybody == nil {
		return channel.Everybody(out)
	}
	return o.Everybody(out)
}

// Everybody names the field by which a message to some recipients calls everybody whom the channel reaches, empty for one that does not.
func (c *Channel) Everybody(m *posthouse.Message, to []posthouse.Recipient) (field string) {
	if field = c.Opened.CallsEverybody(channel.Outgoing{Content: m.Content, Payload: m.Payload}); field != "" {
		return field
	}
	for i := range to {
		if field = c.Opened.CallsEverybody(channel.Outgoing{Recipient: c.Addressed(to[i]), Content: posthouse.Content{Type: m.Content.Type}}); field != "" {
			return fmt.Sprintf("to[%d].%s", i, field)
		}
	}
	return ""
}

// Outgoing is a delivery as the driver sees it.
func (c *Channel) Outgoing(item work.Item) channel.Outgoing {
	d, m := &item.Delivery, item.Message
	return channel.Outgoing{
		Tenant: d.Tenant, Channel: d.Channel, Account: d.Account, Message: d.Message, Delivery: d.ID, Recipient: c.Addressed(d.Recipient),
		Content: m.Content, Kind: m.Kind, Ref: m.Ref, Priority: d.Priority,
		Template: m.Template, TemplateID: m.TemplateID, Payload: m.Payload,
		IdemKey: d.IdemKey, Attempt: d.Attempts,
	}
}

// Unreadable says why an item cannot be handed to a driver or an agent, empty where it can.
func Unreadable(item work.Item) string {
	switch {
	case item.Message == nil:
		return "the message of this delivery is not stored"
	case item.Message.Unreadable != "":
		return "the stored message cannot be read: " + item.Message.Unreadable
	case item.Message.Tenant != item.Delivery.Tenant:
		return "the message belongs to another tenant"
	}
	return ""
}
