package channels

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/preset"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Set is the configured channels of a server. The Opener's methods that show and check them are its own too.
type Set struct {
	*Opener
	store    Store
	presets  Presets
	accounts AccountStore
	engine   Engine
	log      *slog.Logger

	mu      sync.Mutex
	version int64           // of the stored set, as this process knows it
	open    map[key]edition // what was handed to the engine
	broken  map[key]error   // why it is not open
}

// key names a channel.
type key struct{ tenant, name string }

// edition tells a channel from all that ever had its name: one that was deleted and made again begins anew with its
// version.
type edition struct {
	version int64
	created int64 // in microseconds, as it is stored
	fleet   int64 // of its accounts
}

func editionOf(row work.ChannelRow) edition {
	return edition{row.Channel.Version, row.Channel.CreatedAt.UnixMicro(), row.Fleet}
}

// Presets are what is known of providers.
type Presets interface {
	Get(ctx context.Context, tenant, name string) (*preset.Preset, error)
}

// Options makes a Set. All but Presets and Log are required.
type Options struct {
	Opener *Opener
	Store  Store
	// Presets are those that channels can be made of. Defaults to none.
	Presets  Presets
	Accounts AccountStore
	Engine   Engine
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// New makes a Set; nothing is open until Reload.
func New(o Options) (*Set, error) {
	if o.Opener == nil || o.Store == nil || o.Accounts == nil || o.Engine == nil {
		return nil, errors.New("channels: Opener, Store, Accounts and Engine are required")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Set{Opener: o.Opener, store: o.Store, presets: o.Presets, accounts: o.Accounts, engine: o.Engine, log: o.Log, version: -1, open: map[key]edition{}, broken: map[key]error{}}, nil
}

// List lists a part of a tenant's channels, secrets masked.
func (s *Set) List(ctx context.Context, tenant, cursor string, limit int) (list []posthouse.Channel, next string, err error) {
	rows, next, err := s.store.ChannelPage(ctx, tenant, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	list = make([]posthouse.Channel, len(rows))
	for i, row := range rows {
		list[i] = s.Masked(row.Channel)
	}
	return list, next, s.stated(ctx, tenant, list)
}

// Get reads one channel, secrets masked.
func (s *Set) Get(ctx context.Context, tenant, name string) (posthouse.Channel, error) {
	ch, err := s.store.Channel(ctx, tenant, name)
	if err != nil {
		return s.Masked(ch), err
	}
	return s.shown(ctx, ch)
}

// shown is a stored channel as it is read: its secrets masked, its state filled in.
func (s *Set) shown(ctx context.Context, ch posthouse.Channel) (posthouse.Channel, error) {
	list := []posthouse.Channel{s.Masked(ch)}
	err := s.stated(ctx, ch.Tenant, list)
	return list[0], err
}

// Rehearse is the channel as Put would store it, its secrets masked. Nothing is stored.
func (s *Set) Rehearse(ctx context.Context, tenant string, ch posthouse.Channel) (posthouse.Channel, error) {
	ch, err := s.storable(ctx, tenant, ch)
	return s.Masked(ch), err
}

// storable is a channel with all that its preset fills in, checked.
func (s *Set) storable(ctx context.Context, tenant string, ch posthouse.Channel) (posthouse.Channel, error) {
	ch.Tenant, ch.State, ch.StateReason, ch.StateUntil, ch.Warnings = tenant, "", "", time.Time{}, nil
	ch, err := s.filled(ctx, ch)
	if err != nil {
		return ch, err
	}
	return s.checked(ctx, state.Preset(ch))
}

// Put creates a channel or replaces it. Every problem is reported at once and then nothing has changed.
func (s *Set) Put(ctx context.Context, tenant string, ch posthouse.Channel) (posthouse.Channel, bool, error) {
	ch, err := s.storable(ctx, tenant, ch)
	if err != nil {
		return ch, false, err
	}
	sealed, err := s.Sealed(ch)
	if err != nil {
		return ch, false, err
	}
	stored, created, err := s.store.PutChannel(ctx, time.Now(), sealed)
	if err != nil {
		return ch, false, err
	}
	if err := s.Reload(ctx); err != nil {
		return ch, created, err
	}
	out, err := s.shown(ctx, stored)
	return out, created, err
}

// checked is a channel that can be stored, with the stored secrets in place of masks.
func (s *Set) checked(ctx context.Context, ch posthouse.Channel) (posthouse.Channel, error) {
	t, problems := s.Check(ch)
	if len(problems) > 0 && t.Name == "" {
		return ch, posthouse.Invalid("the channel cannot be stored", problems)
	}
	var err error
	if ch.Config, err = s.kept(ctx, t, ch); err != nil {
		return ch, err
	}
	if ch.Accounts {
		t = t.Shared()
	}
	config, more := t.Validate(ch.Config)
	if len(more) == 0 {
		more = t.CheckEgress(config, ch.Egress)
	}
	if err := posthouse.Invalid("the channel cannot be stored", append(problems, more...)); err != nil {
		return ch, err
	}
	opened, err := s.Open(ch)
	if err != nil {
		return ch, posthouse.Invalid("the channel cannot be opened", []posthouse.Problem{{Path: "config", Message: err.Error()}})
	}
	err = s.engine.CheckChannel(ch, opened)
	s.Close(opened)
	if err != nil {
		return ch, err
	}
	return ch, s.mayTurn(ctx, ch)
}

// kept is the configuration of ch with the stored secrets in place of masks. A stored channel that cannot be read or
// decrypted has none to give: its secrets are to be written anew, and a mask that is left is named as a problem.
func (s *Set) kept(ctx context.Context, t channel.Type, ch posthouse.Channel) (map[string]any, error) {
	old, err := s.store.Channel(ctx, ch.Tenant, ch.Name)
	switch posthouse.CodeOf(err) {
	case posthouse.CodeNotFound, posthouse.CodeConflict:
		return ch.Config, nil
	}
	if err != nil {
		return nil, err
	}
	if old.Driver != ch.Driver || recipients(old.Egress) != recipients(ch.Egress) {
		return ch.Config, nil // its secrets would go to others
	}
	known, err := s.Unsealed(old)
	if err != nil {
		s.log.Warn("the stored secrets of a channel that is replaced cannot be kept", "tenant", ch.Tenant, "channel", ch.Name, "error", err)
	}
	return t.Keep(known.Config, ch.Config), nil
}

// mayTurn refuses to make a channel pulled that was pushed, or to give it accounts, or the other way, while it has open
// deliveries: they wait where nobody would look.
func (s *Set) mayTurn(ctx context.Context, ch posthouse.Channel) error {
	old, err := s.store.Channel(ctx, ch.Tenant, ch.Name)
	if err != nil || s.Pulled(old) == s.Pulled(ch) && old.Accounts == ch.Accounts {
		return nil //nolint:nilerr // new, or one that cannot be read: it has to be replaced
	}
	open := slices.DeleteFunc(posthouse.States(), func(s posthouse.State) bool { return !s.Open() })
	list, _, err := s.store.Deliveries(ctx, work.Filter{Tenant: ch.Tenant, Sight: work.SeeAll(), Channel: ch.Name, States: open, Limit: 1})
	if err == nil && len(list) > 0 {
		return posthouse.Errorf(posthouse.CodeConflict,
			"channel %q has open deliveries and cannot change who sends them: cancel them or wait until they are settled", ch.Name)
	}
	return err
}

// Delete removes a channel that has nothing open.
func (s *Set) Delete(ctx context.Context, tenant, name string) error {
	if err := s.store.DeleteChannel(ctx, time.Now(), tenant, name); err != nil {
		return err
	}
	return s.Reload(ctx)
}

// Pause stops a channel's sending, until a time where one is given; what is under way finishes.
func (s *Set) Pause(ctx context.Context, tenant, name, reason string, until time.Time) error {
	return s.setPaused(ctx, tenant, name, true, reason, until)
}

// Resume lets a channel send again, and opens the accounts that its provider had refused: these first, since what begins when the
// channel is open may be refused at once, which is to be remembered.
//
// Where it is for one state of the channel alone, nothing is opened for another: what changes it between this look and the write has
// opened accounts that are asked once more, and the channel stays as it is.
func (s *Set) Resume(ctx context.Context, tenant, name string) error {
	if only := work.OnlyOf(ctx); !only.Any() {
		ch, err := s.store.Channel(ctx, tenant, name)
		if err == nil {
			err = only.Check("channel", name, ch.Tag())
		}
		if err != nil {
			return err
		}
	}
	if err := s.engine.Resume(ctx, tenant, name); err != nil {
		return err
	}
	return s.setPaused(ctx, tenant, name, false, "", time.Time{})
}

func (s *Set) setPaused(ctx context.Context, tenant, name string, paused bool, reason string, until time.Time) error {
	if err := s.store.PauseChannel(ctx, time.Now(), tenant, name, paused, reason, until); err != nil {
		return err
	}
	return s.Reload(ctx)
}

// IsBroken reports whether there is a channel of this name that is not open.
func (s *Set) IsBroken(tenant, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken[key{tenant, name}] != nil
}
