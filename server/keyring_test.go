package server_test

import (
	"cmp"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/feed"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// keyLine is a key of a keyring as a text.
func keyLine(id, text string) string {
	return id + ":" + base64.StdEncoding.EncodeToString([]byte((text + strings.Repeat(".", 32))[:32]))
}

// starts makes a server and stops it again.
func starts(t *testing.T, o server.Options) error {
	t.Helper()
	o.Addr, o.Output, o.Announce, o.Log = "127.0.0.1:0", io.Discard, func(string) {}, slog.New(slog.DiscardHandler)
	o.StateDir = cmp.Or(o.StateDir, t.TempDir())
	s, err := server.New(t.Context(), o)
	if err == nil {
		err = s.Stop(t.Context())
	}
	return err
}

func TestAStrangersKeyringIsRefused(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dsn := d.dsn(t)
			file := filepath.Join(t.TempDir(), "posthouse.keys")
			for _, step := range []struct {
				what string
				o    server.Options
				want string // of the error, empty for none
			}{
				{"the first keyring", server.Options{Keyring: keyLine("one", "a")}, ""},
				{"the same again", server.Options{Keyring: keyLine("one", "a")}, ""},
				{"another", server.Options{Keyring: keyLine("two", "b")}, "not this database's"},
				{"another by the same name", server.Options{Keyring: keyLine("one", "b")}, "not this database's"},
				{"a file that is not there", server.Options{KeyringFile: file, CreateKeyring: true}, "put a copy of it there"},
				{"a newer key beside the old one", server.Options{Keyring: keyLine("one", "a") + "," + keyLine("two", "b")}, ""},
				{"without the newer one", server.Options{Keyring: keyLine("one", "a")}, "not this database's"},
				{"without the old one", server.Options{Keyring: keyLine("two", "b")}, ""},
				{"another that is adopted", server.Options{Keyring: keyLine("three", "c"), AdoptKeyring: true}, ""},
				{"the one before that", server.Options{Keyring: keyLine("two", "b")}, "adopt_keyring"},
				{"a new file that is adopted", server.Options{KeyringFile: file, CreateKeyring: true, AdoptKeyring: true}, ""},
				{"the new file", server.Options{KeyringFile: file}, ""},
			} {
				step.o.DSN = dsn
				err := starts(t, step.o)
				if step.want == "" && err != nil || step.want != "" && (err == nil || !strings.Contains(err.Error(), step.want)) {
					t.Fatalf("%s: got %v, want %q", step.what, err, step.want)
				}
				if _, err := os.Stat(file); step.want != "" && err == nil {
					t.Fatalf("%s: the file was made", step.what)
				}
			}
		})
	}
}

// A database that several processes can share gets a keyring on request only: each machine would make its own.
func TestAKeyringIsMadeBesideAnSQLiteFileOrOnRequest(t *testing.T) {
	t.Parallel()
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dsn, file := d.dsn(t), filepath.Join(t.TempDir(), "posthouse.keys")
			err := starts(t, server.Options{DSN: dsn, KeyringFile: file})
			if _, missing := os.Stat(file); d.name == "sqlite" {
				if err != nil || missing != nil {
					t.Errorf("got %v, and %v", err, missing)
				}
				return
			} else if err == nil || !strings.Contains(err.Error(), "create_keyring") || missing == nil {
				t.Errorf("without a request: got %v, and the file %v", err, missing)
			}
			if err := starts(t, server.Options{DSN: dsn, KeyringFile: file, CreateKeyring: true}); err != nil {
				t.Errorf("on request: %v", err)
			}
		})
	}
}

// Secrets and waiting contents that the old key sealed are sealed anew by a server that has both; then the new key alone
// is enough, and what waited is sent.
func TestAnOldKeyIsNeededUntilAllIsSealedAnew(t *testing.T) {
	t.Parallel()
	dsn := dbtest.SQLite(t)
	old, newer := keyLine("old", "a"), keyLine("new", "b")
	with := func(ring string) func(*server.Options) { return func(o *server.Options) { o.Keyring = ring } }
	h := open(t, dsn, with(old))
	ch := hook(h)
	ch.Config["url"] = "http://127.0.0.1:1/" // nobody is there yet
	ch.Backoff = []posthouse.Duration{posthouse.Duration(50 * time.Millisecond)}
	h.put(ch)
	sent, err := h.api.Messages.Send(t.Context(), posthouse.Draft{
		Channel: "hook", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "the code is 4711"}, Sensitive: true,
		NotBefore: time.Now().Add(time.Hour),
	})
	h.must(err)
	door, err := h.api.Fronts.Put(t.Context(), "any", wire.PutFront{Kind: "json", FrontSettings: posthouse.FrontSettings{Channel: "hook", To: []posthouse.Recipient{{User: "u2"}}}})
	h.must(err)
	if status, answer := h.call(http.MethodPost, "/in/json/"+door.Token, "", `{"title":"disk","text":"91 % full"}`); status != http.StatusOK {
		t.Fatalf("the front answers %d %v", status, answer)
	}
	h.eventually("the call is kept", func() bool { return h.number("SELECT COUNT(*) FROM posthouse_front_calls") == 1 })
	hooked, err := h.api.Subscriptions.Create(t.Context(), wire.NewSubscription{URL: "https://example.com/hook"})
	h.must(err)
	h.must(h.stop(t.Context()))

	both := open(t, dsn, with(old+","+newer))
	both.eventually("all is sealed anew", func() bool {
		return both.number("SELECT COUNT(*) FROM posthouse_sealed WHERE body LIKE 'enc:v1:new:%'") == 1 &&
			both.number("SELECT COUNT(*) FROM posthouse_channels WHERE config LIKE '%enc:v1:new:%'") == 1 &&
			both.number("SELECT COUNT(*) FROM posthouse_front_calls WHERE body LIKE 'enc:v1:new:%'") == 1 &&
			both.number("SELECT COUNT(*) FROM posthouse_subscriptions WHERE secrets LIKE 'enc:v1:new:%'") == 1
	})
	both.must(both.stop(t.Context()))

	last := open(t, dsn, with(newer))
	stored, err := last.api.Channels.Get(t.Context(), "hook")
	if err != nil || stored.State != posthouse.ChannelOpen {
		t.Fatalf("with the new key alone the channel is %s %s, %v", stored.State, stored.StateReason, err)
	}
	ring, err := secret.Parse(newer)
	last.must(err)
	var sealed string
	last.must(last.db.QueryRowContext(t.Context(), "SELECT secrets FROM posthouse_subscriptions").Scan(&sealed))
	if keys, err := feed.OpenSecrets(ring, sealed, hooked.ID); err != nil || len(keys) != 1 || keys[0].Key != hooked.Secret {
		t.Errorf("with the new key alone the signing keys of a subscription are %d, %v", len(keys), err)
	}
	_, err = last.db.ExecContext(t.Context(), "UPDATE posthouse_subscriptions SET secrets = 'enc:v1:lost:AAAA'")
	last.must(err)
	if _, err := last.api.Subscriptions.Rotate(t.Context(), hooked.ID, nil); err != nil {
		t.Errorf("a secret that no key opens cannot be rotated: %v", err)
	}
	calls, err := last.api.Fronts.Calls(t.Context(), "any")
	last.must(err)
	if body, err := last.api.Fronts.Reveal(t.Context(), "any", calls[0].ID, "a test"); err != nil || !strings.Contains(body.Body, "91 % full") {
		t.Errorf("with the new key alone what came at the front is %+v, %v", body, err)
	}
	last.put(hook(last)) // to where somebody is
	id := sent.Accepted[0].Deliveries[0].ID
	_, err = last.db.ExecContext(t.Context(), "UPDATE posthouse_queue SET due_at = 1")
	last.must(err)
	last.stands(id, posthouse.Sent)
	if got := last.arrivals("webhook", "u1"); len(got) != 1 || !strings.Contains(got[0].Text, "4711") {
		t.Errorf("arrived: %+v", got)
	}
}
