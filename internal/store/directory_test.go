package store

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// stored compares values without the times that the database gave them.
var stored = cmp.Options{
	cmpopts.IgnoreFields(posthouse.Channel{}, "CreatedAt", "UpdatedAt"),
	cmpopts.IgnoreFields(posthouse.User{}, "UpdatedAt"),
	cmpopts.IgnoreFields(posthouse.Roster{}, "UpdatedAt"),
	cmpopts.IgnoreFields(work.Gate{}, "UpdatedAt", "Until"),
	cmpopts.IgnoreFields(posthouse.Key{}, "CreatedAt"),
	cmpopts.IgnoreFields(posthouse.Template{}, "CreatedAt"),
}

// The directory is replaced as a whole, on each database, and a change of one user loses nothing of another change.
func TestTheDirectoryIsReplacedAndItsUsersChanged(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		if err := s.Users.PutUsers(ctx, at(), "t1", []posthouse.User{{ID: "a", Roles: []string{"r"}}, {ID: "b", Roles: []string{"r"}}, {ID: "c"}}); err != nil {
			t.Fatal(err)
		}
		done, err := s.Users.ReplaceUsers(ctx, at(), "t1", []posthouse.User{{ID: "b", Name: "x"}, {ID: "c", Name: "old"}, {ID: "d"}, {ID: "c"}}, false)
		want := work.Directory{Added: []string{"d"}, Changed: []string{"b"}, Removed: []string{"a"}, Unchanged: 1, Tag: done.Tag}
		if diff := cmp.Diff(want, done); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if found, err := s.Users.UsersOf(ctx, "t1", []string{"r"}); err != nil || len(found["r"]) != 0 {
			t.Errorf("the role has %v, %v", found, err)
		}
		var all sync.WaitGroup
		for n := range 4 {
			all.Go(func() {
				_, _, err := s.Users.ChangeUser(ctx, at(), "t1", "b", func(u *posthouse.User) { u.Roles = append(u.Roles, fmt.Sprint(n)) })
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if u, err := s.Users.User(ctx, "t1", "b"); err != nil || len(u.Roles) != 4 || u.Name != "x" {
			t.Errorf("after four changes at once the user is %+v, %v", u, err)
		}
	})
}

func TestChannelIsCreatedChangedPausedAndDeleted(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		every := posthouse.Duration(time.Minute)
		ch := posthouse.Channel{Tenant: "t1", Name: "招呼", Driver: "httpapi", Config: map[string]any{"url": "https://x/?a=1", "n": 2.5},
			ChannelSettings: posthouse.ChannelSettings{Every: &every, Tries: 3, Rules: []posthouse.RuleSettings{{Type: "duty"}}}}
		before, err := s.Channels.ChannelsVersion(ctx)
		if err != nil {
			t.Fatal(err)
		}
		made, created, err := s.Channels.PutChannel(ctx, at(), ch)
		if err != nil || !created || made.Version != 1 {
			t.Fatalf("PutChannel = %+v, created %v, %v", made, created, err)
		}
		got, err := s.Channels.Channel(ctx, "t1", "招呼")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(made, got); diff != "" {
			t.Errorf("read after write (-want +got):\n%s", diff)
		}
		after, err := s.Channels.ChannelsVersion(ctx)
		if err != nil || after == before {
			t.Errorf("ChannelsVersion stays %d after a change (%v)", after, err)
		}

		if err := s.Channels.PauseChannel(ctx, at(), "t1", "招呼", true, "holiday", at().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		ch.Tries = 5
		changed, created, err := s.Channels.PutChannel(ctx, at(), ch)
		if err != nil || created || changed.Version != 3 || !changed.Paused || changed.PauseReason != "holiday" || changed.PausedUntil.IsZero() {
			t.Fatalf("PutChannel = %+v, created %v, %v; want version 3, still paused", changed, created, err)
		}
		// The pause that was read is ended, and no later one.
		wantCode(t, s.Channels.PauseChannel(work.WithOnly(ctx, work.Only{Tags: []string{made.Tag()}}), at(), "t1", "招呼", false, "", time.Time{}), posthouse.CodeChanged)
		if got, err := s.Channels.Channel(ctx, "t1", "招呼"); err != nil || !got.Paused {
			t.Errorf("paused %v, %v: it was resumed by who had read it before", got.Paused, err)
		}
		if err := s.Channels.PauseChannel(work.WithOnly(ctx, work.Only{Tags: []string{changed.Tag()}}), at(), "t1", "招呼", false, "", time.Time{}); err != nil {
			t.Fatal(err)
		}
		got, err = s.Channels.Channel(ctx, "t1", "招呼")
		if err != nil || got.Paused || got.PauseReason != "" || !got.PausedUntil.IsZero() || got.Tries != 5 || !got.CreatedAt.Equal(made.CreatedAt) {
			t.Errorf("Channel = %+v, %v", got, err)
		}
		if err := s.Channels.DeleteChannel(ctx, at(), "t1", "招呼"); err != nil {
			t.Fatal(err)
		}
		_, err = s.Channels.Channel(ctx, "t1", "招呼")
		wantCode(t, err, posthouse.CodeNotFound)
		wantCode(t, s.Channels.DeleteChannel(ctx, at(), "t1", "招呼"), posthouse.CodeNotFound)
		wantCode(t, s.Channels.PauseChannel(ctx, at(), "t1", "招呼", true, "", time.Time{}), posthouse.CodeNotFound)
	})
}

func TestChannelWithOpenDeliveriesIsNotDeleted(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		if _, _, err := s.Channels.PutChannel(t.Context(), at(), posthouse.Channel{Tenant: "t1", Name: "c1", Driver: "console"}); err != nil {
			t.Fatal(err)
		}
		accept(t, s, entry(2))
		wantCode(t, s.Channels.DeleteChannel(t.Context(), at(), "t1", "c1"), posthouse.CodeConflict)
		settle(t, s, posthouse.EventSent, posthouse.Sent)
		if err := s.Channels.DeleteChannel(t.Context(), at(), "t1", "c1"); err != nil {
			t.Error(err)
		}
	})
}

func TestChannelOfANewerVersionDoesNotHideTheOthers(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		for _, name := range []string{"a", "b", "c"} {
			if _, _, err := s.Channels.PutChannel(t.Context(), at(), posthouse.Channel{Tenant: "t1", Name: name, Driver: "console"}); err != nil {
				t.Fatal(err)
			}
		}
		tamper(t, s, `UPDATE posthouse_channels SET settings = '{"tomorrow":1}' WHERE name = 'b'`)
		list, err := s.Channels.Channels(t.Context(), "")
		if err != nil || len(list) != 3 {
			t.Fatalf("Channels lists %d, %v; want 3", len(list), err)
		}
		for _, row := range list {
			if wrong := row.Err != nil; wrong != (row.Channel.Name == "b") {
				t.Errorf("channel %s: error %v", row.Channel.Name, row.Err)
			}
		}
		if _, err := s.Channels.Channel(t.Context(), "t1", "b"); err == nil {
			t.Error("Channel reads settings it does not know")
		}
	})
}

func TestGates(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		g := work.Gate{Tenant: "t1", Channel: "c1", Account: "甲", Class: posthouse.ClassRate, Code: "429", Error: "too fast", Refusals: 1, Learned: 2.375}
		other := work.Gate{Tenant: "t2", Channel: "c1", Class: posthouse.ClassAuth}
		for _, g := range []work.Gate{g, other} {
			if err := s.Gates.SetGate(ctx, at(), g, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		g.Refusals = 2
		if err := s.Gates.SetGate(ctx, at(), g, time.Hour); err != nil {
			t.Fatal(err)
		}
		got, err := s.Gates.Gates(ctx, "")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]work.Gate{g, other}, got, stored); diff != "" {
			t.Errorf("Gates (-want +got):\n%s", diff)
		}
		if wait := got[0].Until.Sub(got[0].UpdatedAt); wait != time.Hour {
			t.Errorf("the gate opens %v after it was set, want 1h", wait)
		}
		if err := s.Gates.ClearGate(ctx, "t1", "c1", "other"); err != nil {
			t.Fatal(err)
		}
		if got, _ := s.Gates.Gates(ctx, "t1"); len(got) != 1 {
			t.Errorf("clearing another account leaves %d gates, want 1", len(got))
		}
		if err := s.Gates.ClearGate(ctx, "t1", "c1", "*"); err != nil {
			t.Fatal(err)
		}
		if got, _ := s.Gates.Gates(ctx, ""); len(got) != 1 || got[0].Tenant != "t2" {
			t.Errorf("after clearing all of a channel: %+v, want only the other tenant's", got)
		}
	})
}

func TestTemplateVersions(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		put := func(text string) int {
			t.Helper()
			tmpl, err := s.Templates.PutTemplate(ctx, at(), posthouse.Template{Tenant: "t1", Name: "code", Title: "验证码", Text: text})
			if err != nil {
				t.Fatal(err)
			}
			return tmpl.Version
		}
		if got := []int{put("a"), put("a"), put("b"), put("a")}; !cmp.Equal(got, []int{1, 1, 2, 3}) {
			t.Errorf("versions = %v, want 1 1 2 3", got)
		}
		for version, want := range map[int]string{0: "a", 1: "a", 2: "b", 3: "a"} {
			got, err := s.Templates.Template(ctx, "t1", "code", version)
			if err != nil || got.Text != want {
				t.Errorf("version %d = %+v, %v; want %q", version, got, err, want)
			}
		}
		_, err := s.Templates.Template(ctx, "t1", "code", 4)
		wantCode(t, err, posthouse.CodeNotFound)
		list, _, err := s.Templates.Templates(ctx, "t1", "", 0)
		if err != nil || len(list) != 1 || list[0].Version != 3 {
			t.Errorf("Templates = %+v, %v; want version 3 alone", list, err)
		}
		if err := s.Templates.DeleteTemplate(ctx, "t1", "code"); err != nil {
			t.Fatal(err)
		}
		_, err = s.Templates.Template(ctx, "t1", "code", 0)
		wantCode(t, err, posthouse.CodeNotFound)
		wantCode(t, s.Templates.DeleteTemplate(ctx, "t1", "code"), posthouse.CodeNotFound)
	})
}

// FLOW-10: what the provider calls a template belongs to its version; whether it may be used does not.
func TestTemplateKeepsItsExternalIDAndCanBeDisabled(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		tmpl := posthouse.Template{Tenant: "t1", Name: "created", Text: "a", ExternalID: "SE1001"}
		put := func(change func(*posthouse.Template)) {
			t.Helper()
			change(&tmpl)
			stored, err := s.Templates.PutTemplate(t.Context(), at(), tmpl)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Templates.Template(t.Context(), "t1", "created", 0)
			if diff := cmp.Diff(stored, got); err != nil || diff != "" {
				t.Errorf("%v (-stored +read):\n%s", err, diff)
			}
			tmpl = got
		}
		var versions []int
		for _, change := range []func(*posthouse.Template){
			func(*posthouse.Template) {},
			func(t *posthouse.Template) { t.Disabled = true },
			func(t *posthouse.Template) { t.ExternalID = "SE1002" },
			func(t *posthouse.Template) { t.Disabled = false },
			func(t *posthouse.Template) { t.Type = posthouse.CardContent },
			func(t *posthouse.Template) { t.Extra = json.RawMessage(`{"url":"<${url}>"}`) },
			func(t *posthouse.Template) { t.Extra = json.RawMessage(`{"url":"<${url}>"}`) },
			func(t *posthouse.Template) { t.Texts = map[string]posthouse.TemplateText{"en": {Text: "b"}} },
			func(t *posthouse.Template) { t.Texts["en"] = posthouse.TemplateText{Text: "b", Extra: t.Extra} },
			func(t *posthouse.Template) { t.Type, t.Extra = "", nil },
		} {
			put(change)
			versions = append(versions, tmpl.Version)
		}
		if diff := cmp.Diff([]int{1, 1, 2, 2, 3, 4, 4, 5, 6, 7}, versions); diff != "" {
			t.Errorf("versions (-want +got):\n%s", diff)
		}
		if tmpl.ExternalID != "SE1002" || tmpl.Disabled {
			t.Errorf("template %+v", tmpl)
		}
	})
}

func TestTemplatesStoredAtOnceGetTheirOwnVersions(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				_, err := s.Templates.PutTemplate(t.Context(), at(), posthouse.Template{Tenant: "t1", Name: "x", Text: fmt.Sprint(i)})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		list, _, err := s.Templates.Templates(t.Context(), "t1", "", 0)
		if err != nil || len(list) != 1 || list[0].Version != 8 {
			t.Errorf("Templates = %+v, %v; want version 8", list, err)
		}
	})
}

func TestRosterKeepsDaysOverridesAndTheirOrder(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		first := posthouse.Roster{Tenant: "t1", Name: "duty", TimeZone: "Asia/Shanghai", HandOver: "08:30",
			Days:      map[string][]string{"1": {"u2", "u1", "u2"}, "2": {"张三"}, "7": {}},
			Overrides: map[string][]string{"2026-10-01": {}, "2026-10-02": {"u9"}}}
		second := posthouse.Roster{Tenant: "t1", Name: "duty", Days: map[string][]string{"3": {"u3"}}}
		other := posthouse.Roster{Tenant: "t1", Name: "night", Days: map[string][]string{}}
		for _, r := range []posthouse.Roster{first, other} {
			if _, err := s.Rosters.PutRoster(ctx, at(), r); err != nil {
				t.Fatal(err)
			}
		}
		first.Days["1"] = []string{"u2", "u1"}
		got, found, err := s.Rosters.Roster(ctx, "t1", "duty")
		if err != nil || !found {
			t.Fatalf("Roster: found %v, %v", found, err)
		}
		if diff := cmp.Diff(first, got, stored); diff != "" {
			t.Errorf("Roster (-want +got):\n%s", diff)
		}
		if _, err := s.Rosters.PutRoster(ctx, at(), second); err != nil {
			t.Fatal(err)
		}
		list, _, err := s.Rosters.Rosters(ctx, "t1", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]posthouse.Roster{second, other}, list, stored); diff != "" {
			t.Errorf("Rosters (-want +got):\n%s", diff)
		}
		if err := s.Rosters.DeleteRoster(ctx, "t1", "duty"); err != nil {
			t.Fatal(err)
		}
		if _, found, err := s.Rosters.Roster(ctx, "t1", "duty"); found || err != nil {
			t.Errorf("after deleting: found %v, %v", found, err)
		}
		wantCode(t, s.Rosters.DeleteRoster(ctx, "t1", "duty"), posthouse.CodeNotFound)
	})
}

func TestUsersArePutListedLookedUpAndDeleted(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		var want []posthouse.User
		for i := range 130 { // more than one part of a bulk insert
			want = append(want, posthouse.User{Tenant: "t1", ID: fmt.Sprintf("u%03d", i), Name: "张三 👩‍💻", Type: "branch",
				Addresses: map[string]string{"sms": fmt.Sprintf("+86%d", i), "mail": ""}, Roles: []string{"全员", fmt.Sprint("排", i%7)}, TimeZone: "Asia/Urumqi", Language: "zh-Hant", Manager: fmt.Sprintf("U%03d", i)})
		}
		if err := s.Users.PutUsers(ctx, at(), "t1", append(want, want[3])); err != nil {
			t.Fatal(err)
		}
		want[5].Name, want[5].Roles = "changed", []string{"操作员"}
		if err := s.Users.PutUsers(ctx, at(), "t1", want[5:6]); err != nil {
			t.Fatal(err)
		}
		var got []posthouse.User
		for cursor := ""; ; {
			list, next, err := s.Users.Users(ctx, "t1", cursor, 50)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, list...)
			if cursor = next; next == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got, stored); diff != "" {
			t.Errorf("Users (-want +got):\n%s", diff)
		}
		addresses, err := s.Users.Addresses(ctx, "t1", "sms", []string{"u001", "u129", "nobody"})
		if diff := cmp.Diff(map[string]string{"u001": "+861", "u129": "+86129"}, addresses); err != nil || diff != "" {
			t.Errorf("Addresses: %v (-want +got):\n%s", err, diff)
		}
		if none, err := s.Users.Addresses(ctx, "t1", "mail", []string{"u001"}); err != nil || len(none) > 0 {
			t.Errorf("Addresses without one = %v, %v", none, err)
		}
		if err := s.Users.DeleteUser(ctx, "t1", "u001"); err != nil {
			t.Fatal(err)
		}
		_, err = s.Users.User(ctx, "t1", "u001")
		wantCode(t, err, posthouse.CodeNotFound)
		wantCode(t, s.Users.DeleteUser(ctx, "t1", "u001"), posthouse.CodeNotFound)
	})
}

// FLOW-9: who has a role follows what is stored and deleted of users.
func TestUsersOfARole(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		put := func(tenant string, users ...posthouse.User) {
			t.Helper()
			if err := s.Users.PutUsers(ctx, at(), tenant, users); err != nil {
				t.Fatal(err)
			}
		}
		want := func(what string, want map[string][]string) {
			t.Helper()
			got, err := s.Users.UsersOf(ctx, "t1", []string{"操作员", "planner", "vacant"})
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
			}
		}
		put("t1", posthouse.User{ID: "u2", Roles: []string{"操作员", "planner", "操作员"}}, posthouse.User{ID: "u1", Roles: []string{"操作员"}}, posthouse.User{ID: "u3"})
		put("t2", posthouse.User{ID: "u9", Roles: []string{"操作员"}})
		want("stored", map[string][]string{"操作员": {"u1", "u2"}, "planner": {"u2"}})
		got, err := s.Users.RolesOf(ctx, "t1", []string{"u2", "u3", "u1", "u9"})
		if diff := cmp.Diff(map[string][]string{"u2": {"planner", "操作员"}, "u1": {"操作员"}}, got); err != nil || diff != "" {
			t.Errorf("by user: %v (-want +got):\n%s", err, diff)
		}
		put("t1", posthouse.User{ID: "u2", Roles: []string{"planner"}}, posthouse.User{ID: "u2", Roles: []string{"other"}}, posthouse.User{ID: "u3", Roles: []string{"planner"}})
		want("replaced", map[string][]string{"操作员": {"u1"}, "planner": {"u3"}})
		if err := s.Users.DeleteUser(ctx, "t1", "u1"); err != nil {
			t.Fatal(err)
		}
		want("deleted", map[string][]string{"planner": {"u3"}})
		if u, err := s.Users.User(ctx, "t1", "u2"); err != nil || !cmp.Equal(u.Roles, []string{"other"}) {
			t.Errorf("the user is %+v, %v", u, err)
		}
		if got, err := s.Users.UsersOf(ctx, "t1", nil); err != nil || len(got) > 0 {
			t.Errorf("of no roles: %v, %v", got, err)
		}
	})
}

func TestKeysAreFoundListedAndRevoked(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		key := posthouse.Key{ID: "k1", Tenant: "t1", Name: "柜台", Scope: posthouse.ScopeAgent, Agent: "phone-1"}
		if err := s.Keys.AddKey(ctx, at(), key, "hash"); err != nil {
			t.Fatal(err)
		}
		got, hash, found, err := s.Keys.KeyHash(ctx, "k1")
		if err != nil || !found || hash != "hash" {
			t.Fatalf("KeyHash = %q, %v, %v", hash, found, err)
		}
		if diff := cmp.Diff(key, got, stored); diff != "" {
			t.Errorf("KeyHash (-want +got):\n%s", diff)
		}
		if _, _, found, err := s.Keys.KeyHash(ctx, "管理员"); found || err != nil {
			t.Errorf("KeyHash of other letters = %v, %v; want not found without an error", found, err)
		}
		if err := s.Keys.RevokeKey(ctx, at(), "t1", "k1"); err != nil {
			t.Fatal(err)
		}
		once, _, err := s.Keys.Keys(ctx, "t1", "", 0)
		if err != nil || len(once) != 1 || once[0].RevokedAt.IsZero() {
			t.Fatalf("Keys = %+v, %v; want one revoked", once, err)
		}
		if err := s.Keys.RevokeKey(ctx, at(), "t1", "k1"); err != nil {
			t.Fatal(err)
		}
		if twice, _, _ := s.Keys.Keys(ctx, "t1", "", 0); !cmp.Equal(once, twice) {
			t.Errorf("revoking again changes %+v to %+v", once, twice)
		}
		wantCode(t, s.Keys.RevokeKey(ctx, at(), "t1", "k2"), posthouse.CodeNotFound)
	})
}

func TestWhatIsSetUpIsListedInPages(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		var want []string
		for i := range 5 {
			name := fmt.Sprint("n", i)
			want = append(want, name)
			_, err := s.Templates.PutTemplate(ctx, at(), posthouse.Template{Tenant: "t1", Name: name, Text: "x"})
			if err == nil {
				_, err = s.Rosters.PutRoster(ctx, at(), posthouse.Roster{Tenant: "t1", Name: name, Days: map[string][]string{"1": {"a", "b"}, "2": {}}})
			}
			if err == nil {
				err = s.Keys.AddKey(ctx, at(), posthouse.Key{ID: "k" + name, Tenant: "t1", Name: name, Scope: posthouse.ScopeRead}, "h"+name)
			}
			if err == nil {
				_, _, err = s.Channels.PutChannel(ctx, at(), posthouse.Channel{Tenant: "t1", Name: name, Driver: "d"})
			}
			if err == nil {
				_, err = s.Tenants.PutTenant(ctx, at(), posthouse.Tenant{Name: name, Note: "of " + name})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		got := map[string][]string{}
		for _, x := range inPages(t, 2, func(c string) ([]posthouse.Template, string, error) { return s.Templates.Templates(ctx, "t1", c, 2) }) {
			got["templates"] = append(got["templates"], x.Name)
		}
		for _, x := range inPages(t, 2, func(c string) ([]posthouse.Roster, string, error) { return s.Rosters.Rosters(ctx, "t1", c, 2) }) {
			if len(x.Days["1"]) == 2 && x.Days["2"] != nil {
				got["rosters"] = append(got["rosters"], x.Name)
			}
		}
		for _, x := range inPages(t, 2, func(c string) ([]posthouse.Key, string, error) { return s.Keys.Keys(ctx, "t1", c, 2) }) {
			got["keys"] = append(got["keys"], x.Name)
		}
		for _, x := range inPages(t, 2, func(c string) ([]work.ChannelRow, string, error) { return s.Channels.ChannelPage(ctx, "t1", c, 2) }) {
			got["channels"] = append(got["channels"], x.Channel.Name)
		}
		for _, x := range inPages(t, 2, func(c string) ([]posthouse.Tenant, string, error) { return s.Tenants.Tenants(ctx, c, 2) }) {
			if x.Name != "t1" && x.Note == "of "+x.Name || x.Name == "t1" { // which has keys and channels, and was not made
				got["tenants"] = append(got["tenants"], x.Name)
			}
		}
		for list, names := range got {
			if list == "tenants" {
				names = names[:len(names)-1]
			}
			if !cmp.Equal(names, want) {
				t.Errorf("the %s in pages are %v, want %v", list, names, want)
			}
		}
		if len(got) != 5 {
			t.Errorf("got %v", got)
		}
	})
}
