package suppress

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/life"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Chosen has what users of the directory have chosen.
type Chosen interface {
	// Preferring are the tenants of which a user has.
	Preferring(ctx context.Context) ([]string, error)
	// PreferencesOf are those of users; one who has chosen nothing is missing.
	PreferencesOf(ctx context.Context, tenant string, users []string) (map[string]posthouse.Preferences, error)
	// Choosing are the users who have chosen something whose ids come after one, in the order of their ids, at most so many.
	Choosing(ctx context.Context, tenant, after string, most int) ([]posthouse.Preferences, error)
}

// Tenants say which kinds may not be switched off.
type Tenants interface {
	Attentive(ctx context.Context) (map[string]posthouse.Tenant, error)
}

// Choices answer whether users of the directory want a message. Which tenants have users who chose something is known in memory, so that
// the others pay nothing; what a user has chosen is asked after each start is stored, as suppressions are. Nil, or the zero value, is
// nobody's.
type Choices struct {
	Chosen  Chosen
	Tenants Tenants
	// Log defaults to slog.Default().
	Log *slog.Logger

	known atomic.Pointer[map[string][]string] // the mandatory kinds of tenants of which a user has chosen something
}

// Wish is a message to a user by a channel, as far as preferences know it.
type Wish struct {
	User, Kind, Channel string
	Critical            bool
}

// Refresh reads which tenants have users who chose something.
func (c *Choices) Refresh(ctx context.Context) error {
	if c == nil || c.Chosen == nil {
		return nil
	}
	names, err := c.Chosen.Preferring(ctx)
	if err != nil {
		return err
	}
	known := make(map[string][]string, len(names))
	if len(names) > 0 && c.Tenants != nil {
		tenants, err := c.Tenants.Attentive(ctx)
		if err != nil {
			return err
		}
		for _, name := range names {
			known[name] = tenants[name].MandatoryKinds
		}
	}
	c.known.Store(&known)
	return nil
}

// followEvery is how soon the first choice of a tenant's users, or a change of its mandatory kinds, by another process holds here.
const followEvery = 2 * time.Second

// Follow takes over what other processes change, until ctx ends.
func (c *Choices) Follow(ctx context.Context) {
	tick := time.NewTicker(life.Spread(followEvery))
	defer tick.Stop()
	for {
		if err := c.Refresh(ctx); err != nil && ctx.Err() == nil {
			c.log().Warn("it cannot be read which tenants have users with preferences: those known so far hold", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (c *Choices) log() *slog.Logger {
	if c.Log != nil {
		return c.Log
	}
	return slog.Default()
}

// of are the mandatory kinds of a tenant, and whether any of its users has chosen something.
func (c *Choices) of(tenant string) (mandatory []string, any bool) {
	if c == nil {
		return nil, false
	}
	known := c.known.Load()
	if known == nil {
		return nil, false
	}
	mandatory, any = (*known)[tenant]
	return mandatory, any
}

// Any reports whether any user of a tenant has chosen something.
func (c *Choices) Any(tenant string) bool {
	_, any := c.of(tenant)
	return any
}

// Refused finds, by their places, the wishes that their users do not want.
func (c *Choices) Refused(ctx context.Context, tenant string, wishes []Wish) (map[int]Barred, error) {
	mandatory, any := c.of(tenant)
	if !any {
		return nil, nil
	}
	var users []string
	for _, w := range wishes {
		if w.User != "" && !w.Critical && !slices.Contains(mandatory, w.Kind) {
			users = append(users, w.User)
		}
	}
	slices.Sort(users)
	if users = slices.Compact(users); len(users) == 0 {
		return nil, nil
	}
	chosen, err := c.Chosen.PreferencesOf(ctx, tenant, users)
	if err != nil || len(chosen) == 0 {
		return nil, err
	}
	found := map[int]Barred{}
	for i, w := range wishes {
		p, is := chosen[w.User]
		if !is || w.Critical || slices.Contains(mandatory, w.Kind) {
			continue
		}
		if p.RefuseKind(w.Kind) {
			found[i] = Barred{state.ReasonPreference, refusedKind(&p, w.Kind)}
		} else if p.RefuseChannel(w.Kind, w.Channel) {
			found[i] = Barred{state.ReasonUnwanted, "its recipient does not want it by this channel"}
		}
	}
	return found, nil
}

func refusedKind(p *posthouse.Preferences, kind string) string {
	if p.Nothing {
		return "its recipient wants no messages"
	}
	return fmt.Sprintf("its recipient has switched off the kind %.80s", kind)
}

// refusingPage is how many users with choices are read at once.
const refusingPage = 1000

// Refusing are users who do not want messages of a kind by a channel, of a page of those who have chosen something: of users whose ids come
// after one. next leads to the page behind it, and is empty for none.
func (c *Choices) Refusing(ctx context.Context, tenant, kind, channel, after string) (users []string, next string, err error) {
	mandatory, any := c.of(tenant)
	if !any || slices.Contains(mandatory, kind) {
		return nil, "", nil
	}
	list, err := c.Chosen.Choosing(ctx, tenant, after, refusingPage)
	if err != nil {
		return nil, "", err
	}
	for i := range list {
		if p := &list[i]; p.RefuseKind(kind) || p.RefuseChannel(kind, channel) {
			users = append(users, p.User)
		}
	}
	if len(list) == refusingPage {
		next = list[len(list)-1].User
	}
	return users, next, nil
}

// For returns the choices that hold for messages of a kind, by user. A user without choices is missing. For critical messages and mandatory
// kinds only the order of channels holds.
func (c *Choices) For(ctx context.Context, tenant, kind string, critical bool, users []string) (map[string]posthouse.Preferences, error) {
	mandatory, any := c.of(tenant)
	if !any || len(users) == 0 {
		return nil, nil
	}
	chosen, err := c.Chosen.PreferencesOf(ctx, tenant, users)
	if err == nil && (critical || slices.Contains(mandatory, kind)) {
		for user, p := range chosen {
			p.Nothing, p.Off = false, nil
			chosen[user] = p
		}
	}
	return chosen, err
}

// items finds those of the deliveries of a channel that their recipients do not want.
func (c *Choices) items(ctx context.Context, key state.Key, items iter.Seq[*work.Item]) (map[int]Barred, error) {
	if _, any := c.of(key.Tenant); !any {
		return nil, nil
	}
	var wishes []Wish
	for item := range items {
		w := Wish{User: item.Delivery.User, Channel: key.Channel}
		if m := item.Message; m != nil {
			w.Kind, w.Critical = m.Kind, m.Critical
		}
		wishes = append(wishes, w)
	}
	return c.Refused(ctx, key.Tenant, wishes)
}
