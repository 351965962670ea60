package store

import (
	"context"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// What is stored over one state of a thing is stored over no other, also where two do so at once.
func TestAWriteIsForOneState(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for name, thing := range guardedThings(s) {
			t.Run(name, func(t *testing.T) {
				put := func(only work.Only, value string) error {
					return thing.put(work.WithOnly(t.Context(), only), value)
				}
				tag := func() string {
					got, err := thing.tag(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					return got
				}
				wantCode(t, put(work.Only{Tags: []string{"1"}}, "a"), thing.missing)
				if err := thing.put(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				first := tag()
				wantCode(t, put(work.Only{New: true}, "b"), posthouse.CodeChanged)
				wantCode(t, put(work.Only{Tags: []string{"1", "2"}}, "b"), posthouse.CodeChanged)
				if tag() != first {
					t.Error("a refusal has changed it")
				}
				if err := put(work.Only{There: true}, "b"); err != nil {
					t.Error(err)
				}
				second := tag()
				if second == first {
					t.Errorf("two states have the tag %q", first)
				}
				wantCode(t, put(work.Only{Tags: []string{first}}, "c"), posthouse.CodeChanged)
				errs := make(chan error)
				for _, value := range []string{"c", "d"} {
					go func() { errs <- put(work.Only{Tags: []string{first, second}}, value) }()
				}
				a, b := <-errs, <-errs
				if (a == nil) == (b == nil) {
					t.Errorf("two writes at once end with %v and %v", a, b)
				} else if a == nil {
					a = b
				}
				wantCode(t, a, posthouse.CodeChanged)
			})
		}
	})
}

// guarded is a kind of things that are stored over one state.
type guarded struct {
	put     func(ctx context.Context, value string) error
	tag     func(ctx context.Context) (string, error)
	missing posthouse.Code // of a change of what is not there
}

func guardedThings(s *Store) map[string]guarded {
	return map[string]guarded{
		"channel": {func(ctx context.Context, value string) error {
			_, _, err := s.Channels.PutChannel(ctx, at(), posthouse.Channel{Tenant: "t1", Name: "c", Driver: "d", Config: map[string]any{"v": value}})
			return err
		}, func(ctx context.Context) (string, error) {
			ch, err := s.Channels.Channel(ctx, "t1", "c")
			return ch.Tag(), err
		}, posthouse.CodeChanged},
		"template": {func(ctx context.Context, value string) error {
			_, err := s.Templates.PutTemplate(ctx, at(), posthouse.Template{Tenant: "t1", Name: "c", Text: value})
			return err
		}, func(ctx context.Context) (string, error) {
			tmpl, err := s.Templates.Template(ctx, "t1", "c", 0)
			return tmpl.Tag(), err
		}, posthouse.CodeChanged},
		"roster": {func(ctx context.Context, value string) error {
			_, err := s.Rosters.PutRoster(ctx, at(), posthouse.Roster{Tenant: "t1", Name: "c", Days: map[string][]string{"1": {value}}})
			return err
		}, func(ctx context.Context) (string, error) {
			r, _, err := s.Rosters.Roster(ctx, "t1", "c")
			return r.Tag(), err
		}, posthouse.CodeChanged},
		"tenant": {func(ctx context.Context, value string) error {
			_, err := s.Tenants.PutTenant(ctx, at(), posthouse.Tenant{Name: "c", Note: value})
			return err
		}, func(ctx context.Context) (string, error) {
			t, err := s.Tenants.Tenant(ctx, "c")
			return t.Tag(), err
		}, posthouse.CodeChanged},
		"user": {func(ctx context.Context, value string) error {
			if work.OnlyOf(ctx).Any() { // makes it where it is not there
				return s.Users.PutUsers(ctx, at(), "users", []posthouse.User{{ID: "u", Name: value}})
			}
			_, _, err := s.Users.ChangeUser(ctx, at(), "users", "u", func(u *posthouse.User) { u.Name = value })
			return err
		}, func(ctx context.Context) (string, error) {
			u, err := s.Users.User(ctx, "users", "u")
			return u.Tag(), err
		}, posthouse.CodeNotFound},
		"directory": {func(ctx context.Context, value string) error {
			_, err := s.Users.ReplaceUsers(ctx, at(), "directory", []posthouse.User{{ID: value}}, false)
			return err
		}, func(ctx context.Context) (string, error) {
			d, err := s.Users.ReplaceUsers(ctx, at(), "directory", nil, true)
			return d.Tag, err
		}, posthouse.CodeChanged},
	}
}
