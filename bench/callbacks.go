package main

import (
	"context"
	"crypto/sha1" //nolint:gosec // what WeChat signs with
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/secret"
	"github.com/posthouse/posthouse/wire"
)

// A provider tells of each message that was sent, in a call of its own: what that costs server and database, and that none of them is
// lost or refused at the highest rate that is sustained. callers wait for answers at once, as WeChat's do.
const (
	callers        = 64
	callbackAtMost = 50 * time.Microsecond
	callbackToken  = "a-token-of-ours"
)

// official is WeChat as far as it is needed: it accepts every message, and numbers it.
type official struct {
	*httptest.Server
	mu sync.Mutex
	to []string // the openids, by the number of the message
}

func newOfficial() *official {
	o := &official{}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			To string `json:"touser"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/stable_token") {
			_, _ = io.WriteString(w, `{"access_token":"a-token","expires_in":7200}`)
			return
		}
		o.mu.Lock()
		n := len(o.to)
		o.to = append(o.to, in.To)
		o.mu.Unlock()
		_, _ = fmt.Fprintf(w, `{"errcode":0,"errmsg":"ok","msgid":%d}`, n)
	}))
	return o
}

// callbacks measures receipts that the provider brings by itself: of single messages, and of members of a campaign.
func (h *house) callbacks(ctx context.Context) (out []finding, err error) {
	binary := filepath.Join(h.dir, "posthouse")
	if err := build(ctx, "..", "./cmd/posthouse", binary); err != nil {
		return nil, err
	}
	for _, backend := range h.ownDatabases() {
		found, err := h.callbacksOn(ctx, binary, backend)
		out = append(out, found...)
		if err != nil {
			return out, fmt.Errorf("%s: %w", backend, err)
		}
	}
	return out, nil
}

func (h *house) callbacksOn(ctx context.Context, binary, backend string) (out []finding, err error) {
	dsn, database, drop, err := h.database(ctx, backend)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	provider := newOfficial()
	defer provider.Close()
	key := secret.FormatKey(secret.NewKey())
	p, addr, err := startServer(ctx, binary, h.dir, dsn, key, "POSTHOUSE_ALLOW_PRIVATE=true")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	t := &teller{url: "http://" + addr, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}}
	t.api, err = client.New(client.Options{URL: t.url, Key: key})
	if err == nil {
		t.raw, err = openRaw(dsn)
	}
	if err == nil {
		defer func() { err = errors.Join(err, t.raw.Close()) }()
		err = t.open(ctx, provider.URL)
	}
	if err != nil {
		return nil, err
	}
	n := 50_000
	if h.o.quick {
		n = 5_000
	}
	for _, kind := range []struct {
		name string
		send func(context.Context, int) error
		told func(context.Context) (int, error)
	}{{"single messages", t.singles, t.singlesTold}, {"members of a campaign", t.members, t.membersTold}} {
		first := len(provider.to)
		if err := kind.send(ctx, n); err != nil {
			return out, err
		}
		used, began := cpuOfServer(p, database), time.Now()
		failed, err := t.tell(ctx, provider.to, first)
		took := time.Since(began)
		each := (cpuOfServer(p, database) - used) / time.Duration(n)
		if err != nil {
			return out, err
		}
		told, err := kind.told(ctx)
		if err != nil {
			return out, err
		}
		cost := finding{What: "callbacks: of " + kind.name + ", processor of server and database", Database: backend, Value: each.Seconds(), Text: short(each).String(), Bound: "at most " + callbackAtMost.String()}
		cost.Note = fmt.Sprintf("%s callbacks, %s a second by %d at once", thousands(n), thousands(int(float64(n)/took.Seconds())), callers)
		lost := finding{What: "callbacks: of " + kind.name + ", lost or refused", Database: backend, Value: float64(n - told + failed), Text: fmt.Sprint(n - told + failed), Bound: "none"}
		out = append(out, cost.atMost(callbackAtMost.Seconds()), lost.atMost(0))
	}
	return out, nil
}

// teller has messages sent, and tells of them.
type teller struct {
	url, path string
	client    *http.Client
	api       *client.Client
	raw       *sql.DB
}

// open makes the channel and its address.
func (t *teller) open(ctx context.Context, provider string) error {
	ch := posthouse.Channel{Name: "mp", Driver: "wechat", Config: map[string]any{"url": provider, "app_id": "wx1", "secret": "s", "template_id": "T1", "callback_token": callbackToken}}
	ch.MaxInflight = callers
	if _, _, err := t.api.Channels.Put(ctx, ch); err != nil {
		return err
	}
	made, err := t.api.Callbacks.Create(ctx, "mp", "")
	t.path = made.Path
	return err
}

// until asks until enough is done.
func until(ctx context.Context, n int, count func(context.Context) (int, error)) (got int, err error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for still, last := 0, -1; still < 100; still++ { // ten seconds without a change: it stays so
		if got, err = count(ctx); err != nil || got >= n {
			return got, err
		}
		if got != last {
			still, last = 0, got
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return got, ctx.Err()
		}
	}
	return got, nil
}

// singles hands in n messages and waits until they are sent.
func (t *teller) singles(ctx context.Context, n int) error {
	const together = 1000
	for i := 0; i < n; i += together {
		d := posthouse.Draft{Channel: "mp", Content: &posthouse.Content{Text: "hello"}}
		for k := range together {
			d.To = append(d.To, posthouse.Recipient{User: fmt.Sprint("u", i+k), Address: fmt.Sprintf("o6_bmjrPTlm6_2sgVt7hM%07d", i+k)})
		}
		if _, err := t.api.Messages.Send(ctx, d); err != nil {
			return err
		}
	}
	return t.enough(ctx, n, posthouse.Sent)
}

func (t *teller) enough(ctx context.Context, n int, s posthouse.State) error {
	got, err := until(ctx, n, func(ctx context.Context) (int, error) { return t.count(ctx, s) })
	if err == nil && got < n {
		err = fmt.Errorf("%d of %d are %s", got, n, s)
	}
	return err
}

func (t *teller) count(ctx context.Context, s posthouse.State) (n int, err error) {
	return n, t.raw.QueryRowContext(ctx, "SELECT COUNT(*) FROM posthouse_deliveries WHERE channel = 'mp' AND state = '"+string(s)+"'").Scan(&n)
}

func (t *teller) singlesTold(ctx context.Context) (int, error) {
	return t.count(ctx, posthouse.Delivered)
}

// members sends a campaign to n people.
func (t *teller) members(ctx context.Context, n int) error {
	var people strings.Builder
	people.WriteString("openid\n")
	for i := range n {
		fmt.Fprintf(&people, "o6_bmjrPTlm6_2sgVt7hM%07d\n", i)
	}
	_, err := t.api.Campaigns.Create(ctx, wire.CampaignDraft{Name: "spring", Channel: "mp", Content: &posthouse.Content{Text: "hello"}})
	if err == nil {
		_, err = t.api.Campaigns.Import(ctx, "spring", client.Part{Final: true}, strings.NewReader(people.String()))
	}
	if err == nil {
		_, err = t.api.Campaigns.Start(ctx, "spring", false)
	}
	if err != nil {
		return err
	}
	got, err := until(ctx, n, func(ctx context.Context) (int, error) {
		c, err := t.api.Campaigns.Get(ctx, "spring")
		return int(c.Progress.Sent), err
	})
	if err == nil && got < n {
		err = fmt.Errorf("%d of %d members are sent to", got, n)
	}
	return err
}

func (t *teller) membersTold(ctx context.Context) (int, error) {
	c, err := t.api.Campaigns.Get(ctx, "spring")
	return int(c.Progress.Delivered), err
}

// tell tells of all messages from a number on, and says how many calls were not taken.
func (t *teller) tell(ctx context.Context, to []string, first int) (failed int, err error) {
	var next, bad atomic.Int64
	var wg sync.WaitGroup
	var once sync.Once
	for range callers {
		wg.Go(func() {
			for i := first + int(next.Add(1)) - 1; i < len(to) && ctx.Err() == nil; i = first + int(next.Add(1)) - 1 {
				status, wrong := t.call(ctx, i, to[i])
				if wrong != nil {
					once.Do(func() { err = wrong })
					return
				}
				if status != http.StatusOK {
					bad.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return int(bad.Load()), err
}

// call is one callback: that a message has arrived.
func (t *teller) call(ctx context.Context, ref int, openid string) (status int, err error) {
	stamp, nonce := strconv.FormatInt(time.Now().Unix(), 10), strconv.Itoa(ref)
	parts := []string{callbackToken, stamp, nonce}
	slices.Sort(parts)
	sum := sha1.Sum([]byte(strings.Join(parts, ""))) //nolint:gosec // as above
	query := url.Values{"timestamp": {stamp}, "nonce": {nonce}, "signature": {hex.EncodeToString(sum[:])}}
	body := fmt.Sprintf("<xml><ToUserName><![CDATA[us]]></ToUserName><FromUserName><![CDATA[%s]]></FromUserName><CreateTime>%s</CreateTime>"+
		"<MsgType><![CDATA[event]]></MsgType><Event><![CDATA[TEMPLATESENDJOBFINISH]]></Event><MsgID>%d</MsgID><Status><![CDATA[success]]></Status></xml>", openid, stamp, ref)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url+t.path+"?"+query.Encode(), strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "text/xml")
	res, err := t.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}
