package registry

import (
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/store/sqltest"
	"github.com/posthouse/posthouse/internal/work"
)

// People have a role a tenant, are let in by a link once, and lose what lets them in with a new password, when they are kept
// out, and with themselves.
func TestPeopleAndWhatLetsThemIn(t *testing.T) {
	sqltest.Each(t, func(t *testing.T, db *sqldb.DB) {
		ctx, s, now := t.Context(), People{db}, time.Now()
		roles := map[string]posthouse.Role{"default": posthouse.RoleAdmin, "分行": posthouse.RoleViewer}
		for i, want := range []bool{true, false} {
			if added, err := s.FirstPerson(ctx, now, posthouse.Person{Name: "admin", Roles: roles}); added != want || err != nil {
				t.Fatalf("the first person, time %d: %v, %v", i+1, added, err)
			}
		}
		zhang := posthouse.Person{Name: "zhang", Title: "张三", Roles: map[string]posthouse.Role{"default": posthouse.RoleOperator}}
		for i, want := range []bool{true, false} {
			if _, created, err := s.PutPerson(ctx, now, zhang); created != want || err != nil {
				t.Fatalf("storing a person, time %d: %v, %v", i+1, created, err)
			}
		}
		list, next, err := s.People(ctx, "", 1)
		if err != nil || len(list) != 1 || list[0].Name != "admin" || next == "" || !maps.Equal(list[0].Roles, roles) {
			t.Errorf("got %+v, %q, %v", list, next, err)
		}
		if list, next, err = s.People(ctx, next, 1); err != nil || len(list) != 1 || list[0].Title != "张三" || next != "" {
			t.Errorf("the second page is %+v, %q, %v", list, next, err)
		}
		seen := func() bool {
			t.Helper()
			p, _, err := s.Person(ctx, "zhang")
			if err != nil {
				t.Fatal(err)
			}
			return !p.SeenAt.IsZero()
		}
		if seen() {
			t.Error("who has not signed in was seen")
		}
		oneWayIn(t, s, now)
		if !seen() {
			t.Error("who has signed in by a link was never seen")
		}
		oneCodeCounts(t, s, now)
		if err := s.SetPassword(ctx, now, "zhang", "$hash", "kept"); err != nil {
			t.Fatal(err)
		}
		p, hash, err := s.Person(ctx, "zhang")
		if err != nil || hash != "$hash" || !p.Password || p.Roles["default"] != posthouse.RoleOperator {
			t.Errorf("got %+v, %q, %v", p, hash, err)
		}
		inside := func(mark string) bool {
			t.Helper()
			_, found, err := s.Session(ctx, mark, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		if !inside("kept") || inside("s0") {
			t.Error("a new password ends the other sessions, and no other")
		}
		if _, found, err := s.Session(ctx, "kept", -time.Hour); found || err != nil {
			t.Errorf("a session that was not used for too long is found, %v", err)
		}
		zhang.Disabled = true
		if _, _, err := s.PutPerson(ctx, now, zhang); err != nil || inside("kept") {
			t.Errorf("who is kept out is still in, %v", err)
		}
		if _, err := s.AddLink(ctx, now, work.Pass{Mark: "l9", Person: "zhang"}, time.Hour); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			t.Errorf("a link for who is kept out: %v", err)
		}
		guestsAreMet(t, s, now)
		if err := s.DeletePerson(ctx, now, "zhang"); err != nil {
			t.Error(err)
		}
		if _, _, err := s.Person(ctx, "zhang"); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			t.Errorf("who was deleted: %v", err)
		}
	})
}

// oneWayIn uses one link of zhang from many sides at once, and adds the session "kept".
func oneWayIn(t *testing.T, s People, now time.Time) {
	t.Helper()
	ctx := t.Context()
	for _, mark := range []string{"l0", "l1"} {
		if _, err := s.AddLink(ctx, now, work.Pass{Mark: mark, Person: "zhang"}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if _, found, err := s.PassOf(ctx, work.PassLink, "l0"); found || err != nil {
		t.Errorf("an older link is still there, %v", err)
	}
	if name, found, err := s.PassOf(ctx, work.PassLink, "l1"); name != "zhang" || !found || err != nil {
		t.Errorf("the link is %q's, %v, %v", name, found, err)
	}
	var in atomic.Int32
	var all sync.WaitGroup
	for _, mark := range []string{"s0", "s1", "s2", "s3"} {
		all.Go(func() {
			_, found, err := s.SwapPass(ctx, now, work.Pass{Kind: work.PassLink, Mark: "l1"}, work.Pass{Kind: work.PassSession, Mark: mark, Source: "::1"}, time.Hour)
			if err != nil {
				t.Error(err)
			}
			if found {
				in.Add(1)
			}
		})
	}
	all.Wait()
	if n := in.Load(); n != 1 {
		t.Errorf("a link let in %d times", n)
	}
	if err := s.AddPass(ctx, now, work.Pass{Kind: work.PassSession, Mark: "kept", Person: "zhang"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := s.AddPass(ctx, now, work.Pass{Kind: work.PassSession, Mark: "over", Person: "zhang"}, -time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, found, err := s.Session(ctx, "over", time.Hour); found || err != nil {
		t.Errorf("a session that has ended is found, %v", err)
	}
}

// oneCodeCounts has many show zhang's codes of the same step at once: what changes them sees what the one before has left.
func oneCodeCounts(t *testing.T, s People, now time.Time) {
	t.Helper()
	ctx := t.Context()
	set := func(f *work.TOTP, at time.Time) error {
		*f = work.TOTP{Secret: "sealed", Since: at, Spare: []string{"a", "b"}}
		return nil
	}
	if err := s.ChangeTOTP(ctx, now, "zhang", set); err != nil {
		t.Fatal(err)
	}
	var taken atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			var mine bool
			err := s.ChangeTOTP(ctx, now, "zhang", func(f *work.TOTP, at time.Time) error {
				if mine = f.Step < 7; mine {
					f.Step, f.Spare = 7, f.Spare[1:]
				} else {
					f.Wrong, f.WrongSince = f.Wrong+1, at
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
			if mine {
				taken.Add(1)
			}
		})
	}
	all.Wait()
	f, err := s.TOTP(ctx, "zhang")
	if err != nil || taken.Load() != 1 || f.Secret != "sealed" || f.Step != 7 || len(f.Spare) != 1 || f.Wrong != 3 || f.WrongSince.IsZero() || f.Since.IsZero() {
		t.Errorf("the step was taken %d times, and it stands at %+v, %v", taken.Load(), f, err)
	}
	if err := s.ResealTOTP(ctx, now, work.SealedTOTP{Person: "zhang", Secret: "of before"}, "anew"); err != nil {
		t.Fatal(err)
	}
	if list, err := s.SealedTOTPs(ctx); err != nil || len(list) != 1 || list[0] != (work.SealedTOTP{Person: "zhang", Secret: "sealed"}) {
		t.Errorf("the sealed secrets are %v, %v", list, err)
	}
	if p, _, err := s.Person(ctx, "zhang"); err != nil || !p.TOTP {
		t.Errorf("the person is %+v, %v", p, err)
	}
}

// guestsAreMet meets somebody whom an identity provider knows, again with other roles, and one whose name zhang has.
func guestsAreMet(t *testing.T, s People, now time.Time) {
	t.Helper()
	ctx := t.Context()
	guest := posthouse.Person{Name: "li", Title: "李娜", Subject: "https://id.example 7", Roles: map[string]posthouse.Role{"default": posthouse.RoleViewer}}
	if before, met, err := s.MeetPerson(ctx, now, guest); before != nil || met.Name != "li" || met.CreatedAt.IsZero() || err != nil {
		t.Errorf("the first time: %v, %+v, %v", before, met, err)
	}
	guest.Name, guest.Roles = "li.na", map[string]posthouse.Role{"分行": posthouse.RoleSender}
	before, met, err := s.MeetPerson(ctx, now, guest)
	if err != nil || before == nil || before.Roles["default"] != posthouse.RoleViewer || met.Name != "li" || !maps.Equal(met.Roles, guest.Roles) {
		t.Errorf("with other roles: %v, %+v, %v", before, met, err)
	}
	p, _, err := s.Person(ctx, "li")
	if err != nil || p.Subject != guest.Subject || p.Title != "李娜" || !maps.Equal(p.Roles, guest.Roles) {
		t.Errorf("what is stored is %+v, %v", p, err)
	}
	guest.Name, guest.Subject = "zhang", "https://id.example 8"
	if _, _, err := s.MeetPerson(ctx, now, guest); posthouse.CodeOf(err) != posthouse.CodeConflict {
		t.Errorf("a name that is taken: %v", err)
	}
	if err := s.DeletePerson(ctx, now, "li"); err != nil {
		t.Error(err)
	}
}
