package channels

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/state"
)

// Opener opens channels: it knows the drivers, and what each of them gets from the house.
type Opener struct {
	o     OpenerOptions
	types map[string]channel.Type

	tokenCalls channel.TokenCalls
}

// OpenerOptions makes an Opener. Types and Keyring are required.
type OpenerOptions struct {
	Types   []channel.Type
	Keyring Keyring
	// Tokens keeps the access tokens of drivers. Defaults to one driver's memory.
	Tokens channel.Tokens
	// TokenPermits count wrong secrets over all processes. Defaults to a count of this process.
	TokenPermits channel.TokenPermits
	// Files are those of a tenant that contents name by upload. Defaults to none.
	Files func(tenant string) channel.Files
	// Network decides which addresses may be dialled. Defaults to public ones.
	Network channel.Network
	// Log defaults to slog.Default().
	Log *slog.Logger
	// Output is where console channels print. Defaults to standard output.
	Output io.Writer
}

// NewOpener makes an Opener. It refuses a table of drivers that cannot be right.
func NewOpener(o OpenerOptions) (*Opener, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	p := &Opener{o: o, types: map[string]channel.Type{}, tokenCalls: channel.TokenCalls{Permits: o.TokenPermits}}
	for _, t := range o.Types {
		if _, twice := p.types[t.Name]; twice {
			return nil, fmt.Errorf("the driver %q is listed twice", t.Name)
		}
		if t.Open == nil {
			return nil, fmt.Errorf("the driver %q cannot be opened: it has no Open", t.Name)
		}
		p.types[t.Name] = t
	}
	return p, nil
}

// Types lists the drivers there are, by name.
func (p *Opener) Types() []channel.Type {
	return slices.SortedFunc(maps.Values(p.types), func(a, b channel.Type) int { return strings.Compare(a.Name, b.Name) })
}

// Pulled reports whether agents fetch a channel's deliveries.
func (p *Opener) Pulled(ch posthouse.Channel) bool {
	return p.types[ch.Driver].Pulled(ch.ChannelSettings)
}

// Open opens the driver of a channel whose secrets are in clear.
func (p *Opener) Open(ch posthouse.Channel) (state.Opened, error) {
	t, err := p.typeOf(ch)
	if err != nil {
		return state.Opened{}, err
	}
	if ch.Accounts {
		t = t.Shared()
	}
	config, problems := t.Validate(ch.Config)
	if err := posthouse.Invalid("its configuration is not valid", problems); err != nil {
		return state.Opened{}, err
	}
	opened := state.Opened{
		MaxBatch: max(t.MaxBatch, 1), Window: t.Window, Timeout: t.CallTimeout(ch.ChannelSettings), Limits: t.Limits, AccountLimits: t.AccountLimits, RecipientLimits: t.RecipientLimits,
		OwnAddresses: t.OwnAddresses, Parameters: t.Parameters, Takes: t.Takes, Pull: t.Pulled(ch.ChannelSettings), Shares: t.Shares,
		Presser:   t.Presser,
		Addresses: t.Addresses,
		Answers:   t.Answers,
		Receipts:  t.Receipts != nil && (ch.Accounts || t.Receipts(config)),
		Calls:     t.Calls != nil && t.Calls(config),
		Everybody: func(out channel.Outgoing) string { return t.Everybody(config, out) },
	}
	if t.AddressesOf != nil {
		opened.Addresses = t.AddressesOf(config)
	}
	if t.Address != nil {
		opened.Address = func(address string) (string, error) { return t.Address(config, address) }
	}
	takes := t.Content
	if takes == nil {
		takes = func(_ channel.Config, content posthouse.Content) []posthouse.Problem {
			return channel.PlainText(content)
		}
	}
	egress := t.Egress(config, ch.Egress)
	opened.Content = func(content posthouse.Content) []posthouse.Problem {
		problems := takes(config, content)
		if len(problems) == 0 && blank(content) {
			problems = append(problems, posthouse.Problem{Path: "content.text", Message: "is blank: whoever gets it sees nothing"})
		}
		return append(problems, p.unreached(egress, content.Media)...)
	}
	if t.RecipientLimitsOf != nil {
		opened.RecipientLimits = t.RecipientLimitsOf(config)
	}
	if t.BatchSize != nil {
		opened.MaxBatch = max(t.BatchSize(config), 1)
	}
	if t.IdempotencyWindow != nil {
		opened.Window = t.IdempotencyWindow(config)
	}
	if t.Names != nil {
		opened.Names = t.Names(config)
	}
	opened.Driver, err = t.Open(config, p.env(&ch, "", opened.Timeout, egress))
	return opened, err
}

// blank reports whether a content is a text of which nothing can be seen. That it is empty is found before its channel is known, and a template makes
// what it makes.
func blank(c posthouse.Content) bool {
	switch c.Kind() {
	case posthouse.TextContent, posthouse.MarkdownContent, posthouse.CardContent:
		return c.Title+c.Text != "" && channel.Blank(c.Title+c.Text)
	}
	return false
}

// unreached are the files of a content that a channel may not fetch, as far as it can be said when the content is handed in.
func (p *Opener) unreached(egress *channel.Egress, files []posthouse.Media) (problems []posthouse.Problem) {
	for i, f := range files {
		if f.URL == "" {
			continue
		}
		if err := egress.CheckFile(p.o.Network, f.URL); err != nil {
			problems = append(problems, posthouse.Problem{Path: fmt.Sprintf("content.media[%d].url", i), Message: err.Error()})
		}
	}
	return problems
}

// env is what a driver gets from the house.
func (p *Opener) env(ch *posthouse.Channel, account string, timeout time.Duration, egress *channel.Egress) channel.Env {
	log := p.o.Log.With("channel", ch.Name)
	if account != "" {
		log = log.With("account", account)
	}
	return channel.Env{
		Tenant: ch.Tenant, Channel: ch.Name, Account: account, Log: log, Output: p.o.Output, Network: p.o.Network,
		Timeout: timeout, Tokens: p.o.Tokens, TokenCalls: &p.tokenCalls, Files: p.filesOf(ch.Tenant), Codes: ch.Codes, Egress: egress, KeepAnswers: ch.KeepAnswers != nil && *ch.KeepAnswers,
	}
}

// filesOf are the files of a tenant.
func (p *Opener) filesOf(tenant string) channel.Files {
	if p.o.Files == nil {
		return nil
	}
	return p.o.Files(tenant)
}

// OpenStored opens the driver of a channel as it is stored.
func (p *Opener) OpenStored(ch posthouse.Channel) (state.Opened, error) {
	ch, err := p.Unsealed(ch)
	if err != nil {
		return state.Opened{}, err
	}
	return p.Open(ch)
}

// Close ends the connections of a driver that was opened for one look only.
func (p *Opener) Close(o state.Opened) {
	for _, d := range o.Drivers() {
		p.closeDriver(d)
	}
}

func (p *Opener) closeDriver(d channel.Driver) {
	if closer, ok := d.(io.Closer); ok {
		if err := closer.Close(); err != nil {
			p.o.Log.Warn("a driver could not be closed", "error", err)
		}
	}
}

// Masked is a stored channel as it may be shown.
func (p *Opener) Masked(ch posthouse.Channel) posthouse.Channel {
	if t, ok := p.types[ch.Driver]; ok {
		ch.Warnings = p.warnings(t, ch)
		ch.Config = t.Redact(ch.Config)
	} else {
		ch.Config = nil // nobody can say what is secret in it
	}
	return ch
}

// warnings say which URLs and servers of a channel are addresses that this server may not call.
func (p *Opener) warnings(t channel.Type, ch posthouse.Channel) (list []string) {
	if t.Pulled(ch.ChannelSettings) {
		return nil
	}
	warn := func(path, url string) {
		if why := p.o.Network.Warn(url); why != "" {
			list = append(list, path+": "+why)
		}
	}
	for _, f := range t.Fields {
		text, _ := ch.Config[f.Name].(string)
		switch {
		case f.Kind == channel.KindURL:
			warn("config."+f.Name, text)
		case f.Kind == channel.KindString && f.Destination: // the name of a server
			warn("config."+f.Name, hostURL(text))
		}
	}
	if ch.Egress != nil {
		for i, host := range ch.Egress.Hosts {
			warn(fmt.Sprintf("egress.hosts[%d]", i), hostURL(host))
		}
	}
	return list
}

// hostURL is a URL of a host, on a port that only the host decides about.
func hostURL(host string) string { return "https://" + net.JoinHostPort(host, "443") }

// Sealed encrypts the secrets of a configuration, each bound to its tenant, channel and field.
func (p *Opener) Sealed(ch posthouse.Channel) (posthouse.Channel, error) {
	config, err := p.types[ch.Driver].MapSecrets(ch.Config, func(name, value string) (string, error) {
		return p.o.Keyring.Seal(value, secret.AAD(ch.Tenant, ch.Name, name))
	})
	ch.Config = config
	return ch, err
}

// Unsealed is a stored channel with its secrets in clear.
func (p *Opener) Unsealed(ch posthouse.Channel) (posthouse.Channel, error) {
	t, err := p.typeOf(ch)
	if err != nil {
		return ch, err
	}
	ch.Config, err = t.MapSecrets(ch.Config, func(name, value string) (string, error) {
		plain, err := p.o.Keyring.Open(value, secret.AAD(ch.Tenant, ch.Name, name))
		if err != nil {
			return "", fmt.Errorf("the secret %s cannot be decrypted with this keyring: %w", name, err)
		}
		return plain, nil
	})
	return ch, err
}

// KeysOf are the ids of the keys that sealed the secrets of a stored channel with a driver.
func KeysOf(t channel.Type, ch posthouse.Channel) []string {
	var ids []string
	_, err := t.MapSecrets(ch.Config, func(_, value string) (string, error) {
		ids = append(ids, secret.KeyOf(value))
		return value, nil
	})
	if err != nil {
		return nil // a config that does not fit its driver, which does not open either
	}
	return ids
}

// Keys is KeysOf for a channel whose driver is known.
func (p *Opener) Keys(ch posthouse.Channel) []string { return KeysOf(p.types[ch.Driver], ch) }

func (p *Opener) typeOf(ch posthouse.Channel) (channel.Type, error) {
	t, ok := p.types[ch.Driver]
	if !ok {
		return t, fmt.Errorf("there is no driver %q; %s", ch.Driver, channel.OneOf("drivers", ch.Driver, slices.Collect(maps.Keys(p.types))))
	}
	return t, nil
}
