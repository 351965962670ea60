package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	signing "github.com/posthouse/posthouse/internal/hook"
	"github.com/posthouse/posthouse/wire"
)

// post is what a subscriber was told.
type post struct {
	header http.Header
	body   []byte
}

func (p post) event(t *testing.T) posthouse.FeedEvent {
	t.Helper()
	var e struct {
		Type string              `json:"type"`
		Data posthouse.FeedEvent `json:"data"`
	}
	if err := json.Unmarshal(p.body, &e); err != nil || e.Type != e.Data.Type() || e.Data.ID != p.header.Get("Webhook-Id") {
		t.Fatalf("posted %s as %s, %v", p.body, p.header.Get("Webhook-Id"), err)
	}
	return e.Data
}

// signedBy reports whether a secret verifies the post.
func (p post) signedBy(t *testing.T, secret string) bool {
	t.Helper()
	key, err := signing.ParseSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := strconv.ParseInt(p.header.Get("Webhook-Timestamp"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	want := signing.Sign([][]byte{key}, p.header.Get("Webhook-Id"), time.Unix(seconds, 0), p.body)
	return slices.Contains(strings.Fields(p.header.Get("Webhook-Signature")), want)
}

// subscriber takes what it is told.
func subscriber(t *testing.T) (url string, posts chan post) {
	t.Helper()
	posts = make(chan post, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posts <- post{r.Header.Clone(), body}
	}))
	t.Cleanup(s.Close)
	return s.URL, posts
}

// FLEET-2: Go hooks, signed webhooks and the live stream tell the same events, each delivery's in order; a new secret signs beside
// the old one, a replay tells the same ids again, and a stream goes on behind the last event.
func TestWhatHappensIsToldToEverybodyWhoFollows(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		t, s := h.T, h.program
		ctx, c := t.Context(), h.api
		if _, err := s.PutChannel(ctx, "", posthouse.Channel{Name: "out", Driver: "discard"}); err != nil {
			t.Fatal(err)
		}
		url, posts := subscriber(t)
		made, err := c.Subscriptions.Create(ctx, wire.NewSubscription{URL: url, Channels: []string{"out"}, States: []posthouse.State{posthouse.Pending, posthouse.Sent}})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := c.Subscriptions.Test(ctx, made.ID); err != nil || !out.Taken || !(<-posts).signedBy(t, made.Secret) {
			t.Fatalf("the test was answered with %+v, %v", out, err)
		}
		hooked := make(chan posthouse.FeedEvent, 100)
		following, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			ended <- s.Follow(following, posthouse.FeedPosition{}.String(), func(events []posthouse.FeedEvent) error {
				for _, e := range events {
					hooked <- e
				}
				return nil
			})
		}()
		accepted, err := s.Accept(ctx, "", posthouse.Draft{Channel: "out", Kind: "order", Ref: "7", To: []posthouse.Recipient{{User: "u"}}, Content: &posthouse.Content{Text: "hello"}})
		if err != nil {
			t.Fatal(err)
		}
		first, second := (<-posts), (<-posts)
		var told []posthouse.FeedEvent
		for _, p := range []post{first, second} {
			told = append(told, p.event(t))
			if !p.signedBy(t, made.Secret) {
				t.Errorf("%s is not signed by the secret", p.body)
			}
		}
		if told[0].To != posthouse.Pending || told[1].To != posthouse.Sent || told[1].Delivery != accepted[0].Deliveries[0].ID || told[1].Kind != "order" || told[1].Ref != "7" || told[1].User != "u" {
			t.Errorf("the subscriber was told %+v", told)
		}
		var states []string
		for range 3 {
			var e posthouse.FeedEvent
			select {
			case e = <-hooked:
			case err := <-ended:
				t.Fatalf("Follow ended with %v", err)
			}
			states = append(states, fmt.Sprint(e.Version, e.To))
		}
		if want := []string{"1pending", "2sending", "3sent"}; !slices.Equal(states, want) {
			t.Errorf("the hook was told %v, want %v", states, want)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Follow ended with %v", err)
		}

		rotated, err := c.Subscriptions.Rotate(ctx, made.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Subscriptions.Replay(ctx, made.ID, wire.ReplayEvents{Since: time.Now().Add(-time.Hour)}); err != nil {
			t.Fatal(err)
		}
		again := <-posts
		if e := again.event(t); e.ID != told[0].ID || !again.signedBy(t, made.Secret) || !again.signedBy(t, rotated.Secret) {
			t.Errorf("the replay told %s, signed %s", again.body, again.header.Get("Webhook-Signature"))
		}

		enough := errors.New("enough")
		err = c.Events.Follow(ctx, client.EventFilter{Behind: told[0].ID, States: []posthouse.State{posthouse.Sent}}, func(e posthouse.FeedEvent) error {
			if e.ID != told[1].ID {
				t.Errorf("the stream behind %s told %s", told[0].ID, e.ID)
			}
			return enough
		})
		if !errors.Is(err, enough) {
			t.Errorf("the stream ended with %v", err)
		}
	})
}
