package server

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/retry"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/internal/work"
)

// channels keeps the configured channels open: it validates what an operator writes, seals the
// secrets, stores it and hands it to the engine, and it takes over what other processes changed.
type channels struct {
	*Server
	types  map[string]channel.Type
	tokens *tokens

	mu      sync.Mutex
	version int64              // of the stored set, as this process knows it
	open    map[string]edition // tenant/name → what was handed to the engine
	broken  map[string]error   // tenant/name → why it is not open
}

// edition tells a channel from all that ever had its name: one that was deleted and made again begins anew with its
// version.
type edition struct {
	version int64
	created int64 // in microseconds, as it is stored
}

func editionOf(ch posthouse.Channel) edition { return edition{ch.Version, ch.CreatedAt.UnixMicro()} }

func newChannels(s *Server, types []channel.Type) (*channels, error) {
	c := &channels{
		Server: s, types: map[string]channel.Type{}, tokens: &tokens{store: s.store, keyring: s.keyring},
		version: -1, open: map[string]edition{}, broken: map[string]error{},
	}
	for _, t := range types {
		if _, twice := c.types[t.Name]; twice {
			return nil, fmt.Errorf("the driver %q is listed twice", t.Name)
		}
		if t.Open == nil {
			return nil, fmt.Errorf("the driver %q can not be opened: it is not written", t.Name)
		}
		c.types[t.Name] = t
	}
	return c, nil
}

// Types lists the drivers there are, by name.
func (c *channels) Types() []channel.Type {
	return slices.SortedFunc(maps.Values(c.types), func(a, b channel.Type) int { return strings.Compare(a.Name, b.Name) })
}

// List lists a tenant's channels, secrets masked.
func (c *channels) List(ctx context.Context, tenant string) ([]posthouse.Channel, error) {
	rows, err := c.store.Channels(ctx, tenant)
	if err != nil {
		return nil, err
	}
	out := make([]posthouse.Channel, len(rows))
	for i, row := range rows {
		out[i] = c.masked(row.Channel)
	}
	return out, nil
}

// Get reads one channel, secrets masked.
func (c *channels) Get(ctx context.Context, tenant, name string) (posthouse.Channel, error) {
	ch, err := c.store.Channel(ctx, tenant, name)
	return c.masked(ch), err
}

func (c *channels) masked(ch posthouse.Channel) posthouse.Channel {
	if t, ok := c.types[ch.Driver]; ok {
		ch.Config = t.Redact(ch.Config)
	} else {
		ch.Config = nil // nobody can say what is secret in it
	}
	return ch
}

// Put creates a channel or replaces it. Every problem is reported at once and then nothing has
// changed.
func (c *channels) Put(ctx context.Context, tenant string, ch posthouse.Channel) (posthouse.Channel, bool, error) {
	ch.Tenant = tenant
	ch = engine.Preset(ch)
	var err error
	t, problems := c.check(ch)
	if len(problems) > 0 && t.Name == "" {
		return ch, false, posthouse.Invalid("the channel can not be stored", problems)
	}
	if ch.Config, err = c.kept(ctx, t, ch); err != nil {
		return ch, false, err
	}
	_, more := t.Validate(ch.Config)
	if problems = append(problems, more...); len(problems) > 0 {
		return ch, false, posthouse.Invalid("the channel can not be stored", problems)
	}
	opened, err := c.openDriver(ch)
	if err != nil {
		return ch, false, posthouse.Invalid("the channel can not be opened", []posthouse.Problem{{Path: "config", Message: err.Error()}})
	}
	err = c.engine.CheckChannel(ch, opened)
	c.closeDriver(opened)
	if err != nil {
		return ch, false, err
	}
	if err := c.mayTurn(ctx, ch, t); err != nil {
		return ch, false, err
	}
	sealed, err := c.sealed(ch)
	if err != nil {
		return ch, false, err
	}
	stored, created, err := c.store.PutChannel(ctx, time.Now(), sealed)
	if err != nil {
		return ch, false, err
	}
	if err := c.reload(ctx); err != nil {
		return ch, created, err
	}
	return c.masked(stored), created, nil
}

// kept is the configuration of ch with the stored secrets in place of masks. A stored channel that
// can not be read or decrypted has none to give: whoever replaces it writes them anew, and a mask
// that is left is named as a problem.
func (c *channels) kept(ctx context.Context, t channel.Type, ch posthouse.Channel) (map[string]any, error) {
	old, err := c.store.Channel(ctx, ch.Tenant, ch.Name)
	switch posthouse.CodeOf(err) {
	case posthouse.CodeNotFound, posthouse.CodeConflict:
		return ch.Config, nil
	}
	if err != nil {
		return nil, err
	}
	if old.Driver != ch.Driver {
		return ch.Config, nil
	}
	known, err := c.unsealed(old)
	if err != nil {
		c.o.Log.Warn("the stored secrets of a channel that is replaced can not be kept", "tenant", ch.Tenant, "channel", ch.Name, "error", err)
	}
	return t.Keep(known.Config, ch.Config), nil
}

// mayTurn refuses to make a channel pulled that was pushed, or the other way, while it has open deliveries: they
// wait where nobody would look.
func (c *channels) mayTurn(ctx context.Context, ch posthouse.Channel, t channel.Type) error {
	old, err := c.store.Channel(ctx, ch.Tenant, ch.Name)
	if err != nil || pulled(old, c.types[old.Driver]) == pulled(ch, t) {
		return nil //nolint:nilerr // new, or one that can not be read: it has to be replaced
	}
	open := slices.DeleteFunc(posthouse.States(), func(s posthouse.State) bool { return !s.Open() })
	list, _, err := c.store.Deliveries(ctx, work.Filter{Tenant: ch.Tenant, Channel: ch.Name, States: open, Limit: 1})
	if err == nil && len(list) > 0 {
		return posthouse.Errorf(posthouse.CodeConflict,
			"channel %q has open deliveries and can not change who sends them: cancel them or wait until they are settled", ch.Name)
	}
	return err
}

// pulled reports whether agents fetch a channel's deliveries.
func pulled(ch posthouse.Channel, t channel.Type) bool { return ch.Pull || t.Pull }

// Delete removes a channel that has nothing open.
func (c *channels) Delete(ctx context.Context, tenant, name string) error {
	if err := c.store.DeleteChannel(ctx, time.Now(), tenant, name); err != nil {
		return err
	}
	return c.reload(ctx)
}

// Pause stops a channel's sending; what is under way finishes.
func (c *channels) Pause(ctx context.Context, tenant, name, reason string) error {
	return c.setPaused(ctx, tenant, name, true, reason)
}

// Resume lets a channel send again, and opens the accounts that its provider had refused.
func (c *channels) Resume(ctx context.Context, tenant, name string) error {
	if err := c.setPaused(ctx, tenant, name, false, ""); err != nil {
		return err
	}
	return c.engine.Resume(ctx, tenant, name)
}

func (c *channels) setPaused(ctx context.Context, tenant, name string, paused bool, reason string) error {
	if err := c.store.PauseChannel(ctx, time.Now(), tenant, name, paused, reason); err != nil {
		return err
	}
	return c.reload(ctx)
}

// openDriver opens a channel's driver from its configuration in clear.
func (c *channels) openDriver(ch posthouse.Channel) (engine.Opened, error) {
	t, ok := c.types[ch.Driver]
	if !ok {
		return engine.Opened{}, fmt.Errorf("there is no driver %q; the drivers are %s", ch.Driver, strings.Join(c.driverNames(), ", "))
	}
	config, problems := t.Validate(ch.Config)
	if err := posthouse.Invalid("its configuration is not valid", problems); err != nil {
		return engine.Opened{}, err
	}
	opened := engine.Opened{MaxBatch: max(t.MaxBatch, 1), Window: t.Window, Timeout: t.Timeout, Limits: t.Limits, OwnAddresses: t.OwnAddresses, Pull: pulled(ch, t)}
	if t.Address != nil {
		opened.Address = func(address string) (string, error) { return t.Address(config, address) }
	}
	if t.BatchSize != nil {
		opened.MaxBatch = max(t.BatchSize(config), 1)
	}
	if t.IdempotencyWindow != nil {
		opened.Window = t.IdempotencyWindow(config)
	}
	timeout := ch.Timeout.Std()
	if opened.Pull {
		timeout = 0 // that is how long an agent holds what it was handed
	}
	if timeout == 0 {
		timeout = max(opened.Timeout, 10*time.Second)
	}
	opened.Timeout = timeout
	driver, err := t.Open(config, channel.Env{
		Tenant: ch.Tenant, Channel: ch.Name, Log: c.o.Log.With("channel", ch.Name), Output: c.o.Output, Network: c.network, Timeout: timeout,
		Tokens: c.tokens, Codes: ch.Codes,
	})
	opened.Driver = driver
	return opened, err
}

// closeDriver ends the connections of a driver that was opened for one look only.
func (c *channels) closeDriver(o engine.Opened) {
	if closer, ok := o.Driver.(io.Closer); ok {
		if err := closer.Close(); err != nil {
			c.o.Log.Warn("a driver could not be closed", "error", err)
		}
	}
}

// follow takes over what other processes changed, until ctx ends.
func (c *channels) follow(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := c.refresh(ctx); err != nil && ctx.Err() == nil {
				c.o.Log.Warn("the channels can not be read", "error", err)
			}
		}
	}
}

// refresh reloads the channels if any has changed since the last time.
func (c *channels) refresh(ctx context.Context) error {
	version, err := c.store.ChannelsVersion(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	same := version == c.version
	c.mu.Unlock()
	if same {
		return nil
	}
	return c.reload(ctx)
}

// reload makes the engine's channels what the database says. A channel that can not be opened is
// named in the log and by /readyz; the others go on.
func (c *channels) reload(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	version, err := c.store.ChannelsVersion(ctx)
	if err != nil {
		return err
	}
	rows, err := c.store.Channels(ctx, "")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, row := range rows {
		key := row.Channel.Tenant + "/" + row.Channel.Name
		seen[key] = true
		if c.open[key] == editionOf(row.Channel) {
			continue
		}
		err := row.Err
		if err == nil {
			err = c.handOver(row.Channel)
		}
		if err != nil {
			c.o.Log.Error("a channel can not be opened: its messages wait", "tenant", row.Channel.Tenant, "channel", row.Channel.Name, "error", err)
			c.broken[key] = err
			if _, was := c.open[key]; was { // by its old settings it might send what an operator has stopped
				c.engine.RemoveChannel(row.Channel.Tenant, row.Channel.Name)
				delete(c.open, key)
			}
			continue
		}
		delete(c.broken, key)
		c.open[key] = editionOf(row.Channel)
	}
	for key := range c.open {
		if !seen[key] {
			tenant, name, _ := strings.Cut(key, "/")
			c.engine.RemoveChannel(tenant, name)
			delete(c.open, key)
		}
	}
	for key := range c.broken {
		if !seen[key] {
			delete(c.broken, key)
		}
	}
	c.version = version
	return nil
}

func (c *channels) handOver(ch posthouse.Channel) error {
	ch, err := c.unsealed(ch)
	if err != nil {
		return err
	}
	opened, err := c.openDriver(ch)
	if err != nil {
		return err
	}
	return c.engine.SetChannel(ch, opened)
}

// sealed encrypts the secrets of a configuration, each bound to its tenant, channel and field.
func (c *channels) sealed(ch posthouse.Channel) (posthouse.Channel, error) {
	config, err := c.types[ch.Driver].MapSecrets(ch.Config, func(name, value string) (string, error) {
		return c.keyring.Seal(value, secret.AAD(ch.Tenant, ch.Name, name))
	})
	ch.Config = config
	return ch, err
}

func (c *channels) unsealed(ch posthouse.Channel) (posthouse.Channel, error) {
	t, ok := c.types[ch.Driver]
	if !ok {
		return ch, fmt.Errorf("there is no driver %q; the drivers are %s", ch.Driver, strings.Join(c.driverNames(), ", "))
	}
	config, err := t.MapSecrets(ch.Config, func(name, value string) (string, error) {
		plain, err := c.keyring.Open(value, secret.AAD(ch.Tenant, ch.Name, name))
		if err != nil {
			return "", fmt.Errorf("the secret %s can not be decrypted with this keyring: %w", name, err)
		}
		return plain, nil
	})
	ch.Config = config
	return ch, err
}

func (c *channels) driverNames() []string {
	return slices.Sorted(maps.Keys(c.types))
}

// Broken lists the channels that are not open, with why.
func (c *channels) Broken() map[string]error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.broken)
}

// isBroken reports whether there is a channel of this name that is not open.
func (c *channels) isBroken(tenant, name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken[tenant+"/"+name] != nil
}

var channelName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,62}$`)

// check finds what is wrong with a channel besides its driver's own fields. The type is empty
// where there is no such driver.
func (c *channels) check(ch posthouse.Channel) (channel.Type, []posthouse.Problem) {
	var problems []posthouse.Problem
	add := func(path, format string, args ...any) {
		problems = append(problems, posthouse.Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	if !channelName.MatchString(ch.Name) {
		add("name", "is %q: want 1 to 63 of a-z, 0-9, '-', '_' and '.', the first a letter or digit", ch.Name)
	}
	t, ok := c.types[ch.Driver]
	if !ok {
		add("driver", "is %q, which is not a driver: want one of %s", ch.Driver, strings.Join(c.driverNames(), ", "))
	}
	inRange := func(path string, d posthouse.Duration, least, most time.Duration) {
		if d != 0 && (d.Std() < least || d.Std() > most) {
			add(path, "is %s: want %s to %s", d, posthouse.Duration(least), posthouse.Duration(most))
		}
	}
	if ch.Every != nil && *ch.Every != 0 {
		inRange("every", *ch.Every, time.Second, 24*time.Hour)
	}
	if pulled(ch, t) {
		inRange("timeout", ch.Timeout, time.Second, 24*time.Hour)
	} else {
		inRange("timeout", ch.Timeout, 100*time.Millisecond, 5*time.Minute)
	}
	inRange("hold_timeout", ch.HoldTimeout, time.Second, 30*24*time.Hour)
	inRange("dedup_window", ch.DedupWindow, time.Second, 366*24*time.Hour)
	for _, n := range []struct {
		path    string
		n, most int
	}{{"max_inflight", ch.MaxInflight, 10000}, {"batch", ch.Batch, 10000}} {
		if n.n < 0 || n.n > n.most {
			add(n.path, "is %d: want 1 to %d", n.n, n.most)
		}
	}
	problems = append(problems, retry.Check(ch.ChannelSettings)...)
	if ch.TimeZone != "" {
		if _, err := time.LoadLocation(ch.TimeZone); err != nil {
			add("time_zone", "is %q, which is not an IANA time zone such as Asia/Shanghai", ch.TimeZone)
		}
	}
	for _, p := range limit.Check(ch.Limits) {
		add("limits"+p.Path, "%s", p.Message)
	}
	for code, class := range ch.Codes {
		if !class.Valid() {
			add("codes."+code, "is %q: want one of %v", class, posthouse.Classes())
		}
	}
	if len(ch.Needs) > 0 && !pulled(ch, t) {
		add("needs", "are what agents must have: only a channel with pull has any")
	}
	if pulled(ch, t) && ch.Every != nil && *ch.Every != 0 {
		add("every", "is %s: agents ask when they like, so leave it out", *ch.Every)
	}
	return t, problems
}
