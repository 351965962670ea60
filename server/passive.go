package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/posthouse/posthouse/internal/people"
	"github.com/posthouse/posthouse/internal/store/registry"
	"github.com/posthouse/posthouse/internal/store/schema"
	"github.com/posthouse/posthouse/internal/work"
)

// preparePassive stands in for what an active server does to its database before it works.
func (s *Server) preparePassive(ctx context.Context) error {
	have, want, err := s.store.Schema.Schema(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if have < want {
		return fmt.Errorf("the database's schema has version %d, this binary wants %d, and this place is passive: start the new version where the database is held first", have, want)
	}
	if err := s.store.Schema.Suits(ctx); err != nil {
		return err
	}
	s.knows = want
	s.hush()
	s.tide = &tide{store: s.store.Tides, dir: s.o.StateDir, log: s.o.Log}
	mark, err := s.store.Keys.KeyringMark(ctx)
	if err != nil {
		return err
	}
	if s.keyring, err = loadKeyring(s.o, true); err != nil {
		return err
	}
	_, err = markOf(s.o, s.keyring, mark)
	return err
}

// startPassive serves what can be looked at.
func (s *Server) startPassive(ctx context.Context) error {
	if err := s.doors.listen(); err != nil {
		return err
	}
	if err := s.channels.Reload(ctx); err != nil {
		s.doors.close()
		return fmt.Errorf("read the channels: %w", err)
	}
	following, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.follow = cancel
	s.done.Go(func() { s.channels.Follow(following) })
	s.done.Go(func() { s.quotas.Follow(following) })
	s.done.Go(func() { s.quiet.Follow(following) })
	s.done.Go(func() { s.choices.Follow(following) })
	s.done.Go(func() { s.watchPlace(following) })
	s.doors.serve(&s.done)
	s.o.Log.Info("posthouse serves what there is to see, and is passive", "url", s.URL(), "place", s.place.name, "database", s.store.DB.Database(), "version", s.o.Version)
	return nil
}

// visits are the sessions of a passive place, which cannot be stored: they end with the process. Passwords and codes are those of the
// database.
type visits struct {
	registry.People
	place *place

	mu     sync.Mutex
	passes map[string]work.Pass
	codes  map[string]work.TOTP // as they were used here
}

func newVisits(p *place, stored registry.People) *visits {
	return &visits{People: stored, place: p, passes: map[string]work.Pass{}, codes: map[string]work.TOTP{}}
}

// mostVisits bounds the sessions. A sign-in takes a password, so that only people of the installation make some.
const mostVisits = 10_000

// AddPass keeps a pass.
func (v *visits) AddPass(_ context.Context, now time.Time, p work.Pass, lasts time.Duration) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.add(now, p, lasts)
}

func (v *visits) add(now time.Time, p work.Pass, lasts time.Duration) error {
	for mark, old := range v.passes {
		if old.EndsAt.Before(now) {
			delete(v.passes, mark)
		}
	}
	if len(v.passes) >= mostVisits {
		return v.place.elsewhere()
	}
	p.CreatedAt, p.SeenAt, p.EndsAt = now, now, now.Add(lasts)
	v.passes[p.Mark] = p
	return nil
}

// AddLink is refused: a link lets in once, which cannot be noted here.
func (v *visits) AddLink(context.Context, time.Time, work.Pass, time.Duration) (work.Pass, error) {
	return work.Pass{}, v.place.elsewhere()
}

// PassOf finds a pass of a kind.
func (v *visits) PassOf(_ context.Context, kind work.PassKind, mark string) (person string, found bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p, found := v.passes[mark]
	if !found || p.Kind != kind || p.EndsAt.Before(time.Now()) {
		return "", false, nil
	}
	return p.Person, true, nil
}

// SwapPass ends a pass and begins another of its person.
func (v *visits) SwapPass(_ context.Context, now time.Time, old, p work.Pass, lasts time.Duration) (person string, found bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	had, found := v.passes[old.Mark]
	if !found || had.Kind != old.Kind || had.EndsAt.Before(now) {
		return "", false, nil
	}
	delete(v.passes, old.Mark)
	p.Person = had.Person
	return p.Person, true, v.add(now, p, lasts)
}

// Session finds a session that was used of late.
func (v *visits) Session(_ context.Context, mark string, idle time.Duration) (work.Pass, bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	p, found := v.passes[mark]
	if !found || p.Kind != work.PassSession || p.EndsAt.Before(now) || p.SeenAt.Before(now.Add(-idle)) {
		return work.Pass{}, false, nil
	}
	p.SeenAt = now
	v.passes[mark] = p
	return p, true, nil
}

// EndSession ends a session.
func (v *visits) EndSession(_ context.Context, _ time.Time, mark string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.passes, mark)
	return nil
}

// TOTP reads how a person makes one-time codes, with what was used up here.
func (v *visits) TOTP(ctx context.Context, person string) (work.TOTP, error) {
	stored, err := v.People.TOTP(ctx, person)
	if err != nil {
		return stored, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if here, used := v.codes[person]; used && here.Secret == stored.Secret && here.Step >= stored.Step {
		return here, nil
	}
	return stored, nil
}

// ChangeTOTP remembers what was used up.
func (v *visits) ChangeTOTP(ctx context.Context, now time.Time, person string, change func(f *work.TOTP, now time.Time) error) error {
	was, err := v.TOTP(ctx, person)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if here, used := v.codes[person]; used && here.Secret == was.Secret && here.Step >= was.Step {
		was = here // another sign-in was faster
	}
	secret := was.Secret
	if err := change(&was, now); err != nil {
		return err
	}
	if was.Secret != secret {
		return v.place.elsewhere() // codes are set up where that can be stored
	}
	v.codes[person] = was
	return nil
}

// SetPassword is refused.
func (v *visits) SetPassword(context.Context, time.Time, string, string, string) error {
	return v.place.elsewhere()
}

// visiting lets people in at a passive place.
func (s *Server) visiting(o people.Options) people.Options {
	v := newVisits(s.place, s.store.People)
	o.Persons, o.Links, o.Sessions, o.Codes = v, v, v, v
	return o
}

// handedOver reports whether the place before this one has ended all its work before the database was promoted: then nothing is missing.
func (s *Server) handedOver(back *schema.WentBack) bool {
	if s.place == nil || back.Found.At.Before(back.Seen.At) || back.Found.History != back.Seen.History {
		return false
	}
	h := s.place.now.Load().holding
	return h.Place == s.place.name && h.Phase == work.PhaseReady
}
