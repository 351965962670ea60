package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/wire"
)

// placesAway are URLs of places that do not answer.
func placesAway() map[string]string {
	return map[string]string{"a": "http://127.0.0.1:1", "b": "http://127.0.0.1:2"}
}

// posted is a message for the channel that the places have.
var posted = posthouse.Draft{Channel: "work", To: []posthouse.Recipient{{User: "u1"}}, Content: &posthouse.Content{Text: "x"}}

// at puts a house at a place.
func at(place string) func(*server.Options) {
	return func(o *server.Options) { o.Place, o.Places = place, placesAway() }
}

// second starts a server of the same installation at a place, which ends with its test.
func (h *house) second(place, dsn string) *house {
	h.Helper()
	o := server.Options{DSN: dsn, Addr: "127.0.0.1:0", Keyring: keyring, AllowPrivate: true, StateDir: h.TempDir(), Poll: 50 * time.Millisecond, Output: io.Discard, Announce: func(string) {}}
	at(place)(&o)
	other := &house{T: h.T, dsn: dsn, key: h.key, log: &logbook{}, sim: h.sim, db: h.db}
	o.Log = slog.New(slog.NewJSONHandler(other.log, nil))
	s, err := server.New(h.Context(), o)
	h.must(err)
	h.end(s.Stop)
	h.must(s.Start(h.Context()))
	other.program, other.url, other.stop = s, s.URL(), s.Stop
	other.api, err = client.New(client.Options{URL: other.url, Key: h.key, Tries: 2})
	h.must(err)
	return other
}

// stance is what a server says of its place.
func (h *house) stance() (ready int, is wire.PlaceStance) {
	h.Helper()
	answer, err := http.Get(h.url + "/readyz")
	h.must(err)
	defer answer.Body.Close()
	var said wire.Readiness
	h.must(json.NewDecoder(answer.Body).Decode(&said))
	if said.Place == nil {
		h.Fatal("/readyz says nothing of the place")
	}
	return answer.StatusCode, *said.Place
}

// directs has a message handed in, which is refused with where to go.
func (h *house) directs(place string) {
	h.Helper()
	_, err := h.api.Messages.Send(h.Context(), posted)
	var said *posthouse.Error
	if !errors.As(err, &said) || said.Code != posthouse.CodeUnavailable || said.Wait <= 0 || said.Place == nil || said.Place.Name != place || said.Place.URL != placesAway()[place] {
		h.Fatalf("a message for another place: %v", err)
	}
}

// changes waits until a server says that it has to be made anew for its place.
func (h *house) changes() {
	h.Helper()
	select {
	case err := <-h.program.Failed():
		if !errors.Is(err, server.ErrPlace) {
			h.Fatalf("the server ends: %v", err)
		}
	case <-time.After(time.Minute):
		h.Fatal("the server goes on as if nothing had changed")
	}
	h.must(h.stop(h.Context()))
}

// Two places on one database: a shared one, or one that the other place's standby has become.
func TestAPlaceHandsOver(t *testing.T) {
	t.Parallel()
	for _, d := range databases[1:] {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			link := ""
			a := open(t, d.dsn(t), at("a"), func(o *server.Options) { o.AnnounceLink = func(path string) { link = path } })
			_, err := a.program.PutChannel(t.Context(), "", posthouse.Channel{Name: "work", Driver: "discard"})
			a.must(err)
			first, err := a.api.Messages.Send(t.Context(), posted)
			a.must(err)
			person := visitor(t)
			person.posts(a.url+link[:strings.Index(link, "?")], "link", link[strings.Index(link, "=")+1:])
			person.posts(a.url+"/console/me/password", "password", "correct horse battery")

			b := a.second("b", a.dsn)
			if ready, is := b.stance(); ready != http.StatusServiceUnavailable || is.Name != "b" || is.Active || is.Holder == nil || is.Holder.Name != "a" || is.Holder.URL != placesAway()["a"] {
				t.Errorf("a passive place: %d %+v", ready, is)
			}
			if got := b.metric(`posthouse_place_active{place="b"}`); got != 0 {
				t.Errorf("its metric is %g", got)
			}
			if m, err := b.api.Messages.Get(t.Context(), first.Accepted[0].ID); err != nil || m.ID != first.Accepted[0].ID {
				t.Errorf("a look at a passive place: %+v, %v", m, err)
			}
			b.directs("a")
			person.posts(b.url+"/console/sign-in", "name", "admin", "password", "correct horse battery")
			if page := person.gets(b.url + "/console/t/default/"); !strings.Contains(page, "sign-out") {
				t.Errorf("the console of a passive place:\n%s", page)
			}
			if _, err := server.New(t.Context(), server.Options{DSN: a.dsn, NoListen: true, Keyring: keyring, StateDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "place: a") {
				t.Errorf("a server without a place: %v", err)
			}

			s, err := store.Open(t.Context(), store.Options{DSN: a.dsn})
			a.must(err)
			defer s.Close()
			_, err = s.Places.Leave(t.Context(), time.Now(), "b")
			a.must(err)
			a.directs("b") // in the same moment, by the transaction of the accept
			a.changes()
			a.must(s.Places.Ready(t.Context(), time.Now(), "b"))
			b.changes()
			b = a.second("b", a.dsn)
			if ready, is := b.stance(); ready != http.StatusOK || !is.Active || is.Epoch != 2 || is.Since.IsZero() {
				t.Errorf("the place that has taken over: %d %+v", ready, is)
			}
			sent, err := b.api.Messages.Send(t.Context(), posted)
			b.must(err)
			b.eventually("it sends", func() bool {
				return b.delivery(posthouse.DeliveryID(sent.Accepted[0].ID, 1)).State == posthouse.Sent
			})
			a = a.second("a", a.dsn)
			a.directs("b")
		})
	}
}

// visits is a person with a browser.
type visits struct {
	*testing.T
	http.Client
}

func visitor(t *testing.T) *visits {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visits{t, http.Client{Jar: jar}}
}

func (v *visits) posts(to string, fields ...string) {
	v.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	answer, err := v.PostForm(to, form)
	if err != nil {
		v.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK { // of the page that it leads to
		text, _ := io.ReadAll(answer.Body)
		v.Fatalf("%s: %s\n%s", to, answer.Status, text)
	}
}

func (v *visits) gets(at string) string {
	v.Helper()
	answer, err := v.Get(at)
	if err != nil {
		v.Fatal(err)
	}
	defer answer.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(answer.Body); err != nil {
		v.Fatal(err)
	}
	return text.String()
}

// A place whose database says that it holds asks the others first: one that has a newer epoch has taken over.
func TestAPlaceThatComesBackAsksTheOthers(t *testing.T) {
	t.Parallel()
	said := wire.Readiness{Place: &wire.PlaceStance{Name: "b", Active: true, Epoch: 5, Since: time.Now()}}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(said); err != nil {
			t.Error(err)
		}
	}))
	defer other.Close()
	dsn := dbtest.SQLite(t)
	a := open(t, dsn, at("a"))
	a.must(a.stop(t.Context()))
	for _, c := range []struct {
		name   string
		epoch  int64
		active bool
	}{{"an epoch that is none", 1 << 50, true}, {"an older epoch", 0, true}, {"a newer epoch", 5, false}} {
		said.Place.Epoch = c.epoch
		s, err := server.New(t.Context(), server.Options{DSN: dsn, Place: "a", Places: map[string]string{"b": other.URL}, NoListen: true, Keyring: keyring, StateDir: t.TempDir(), Output: io.Discard, Log: slog.New(slog.DiscardHandler)})
		a.must(err)
		passive := false
		for _, check := range s.Readiness(t.Context()) {
			passive = passive || check.Name == "place" && !check.OK && strings.Contains(check.Detail, "b holds epoch 5")
		}
		if passive == c.active {
			t.Errorf("%s: passive is %t", c.name, passive)
		}
		a.must(s.Stop(context.WithoutCancel(t.Context())))
	}
	s, err := store.Open(t.Context(), store.Options{DSN: dsn})
	a.must(err)
	defer s.Close()
	if h, _, found, err := s.Places.Holding(t.Context()); err != nil || !found || h.Place != "b" || h.Phase != work.PhaseHeld {
		t.Errorf("the database says %+v, %t, %v", h, found, err)
	}
}

func TestPlacesThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]server.Options{
		"and place is not":        {Places: placesAway()},
		`"A b" is no name`:        {Place: "A b"},
		`"" is no name`:           {Place: "a", Places: map[string]string{"": "https://a.example"}},
		`for b: want the URL`:     {Place: "a", Places: map[string]string{"b": "b.example"}},
		`"ftp://b.example" for b`: {Place: "a", Places: map[string]string{"b": "ftp://b.example"}},
	} {
		o.DSN, o.NoListen, o.Keyring = dbtest.SQLite(t), true, keyring
		if _, err := server.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
}
