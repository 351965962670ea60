package upgrade

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/outbox"
	"github.com/posthouse/posthouse/presets"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/torture/internal/overlay"
	"github.com/posthouse/posthouse/wire"
)

// hasty is a program to which what takes hours, days or months happens at once: rows that come late in a database's life are then in the
// fixture, written as the program writes them.
var hasty = []overlay.Edit{
	{File: "internal/store/layout/late.go", Old: "const LateAfter = 25 * time.Hour", New: "const LateAfter time.Duration = 0"},
	{File: "internal/store/registry/minutes.go", Old: "const minutesKept = 90 * 24 * time.Hour", New: "const minutesKept = -time.Hour"},
	{File: "internal/upkeep/pruner.go", Old: "pruneEvery = 10 * time.Minute", New: "pruneEvery = time.Second"},
	{File: "internal/feed/courier.go", Old: "\t5 * time.Second, 30 * time.Second, 2 * time.Minute,", New: "\ttime.Millisecond,\n}\n\nvar _ = []time.Duration{"},
	{File: "internal/feed/courier.go", Old: "const afterDead = 5", New: "const afterDead = 0"},
	// What may be answered for a week can be in a year from now too.
	{File: "internal/store/answerable.go", Old: "const answerableFor = 7 * 24 * time.Hour", New: "const answerableFor = 100 * 365 * 24 * time.Hour"},
}

func TestTheHastyProgramIsStillMadeOfTheSource(t *testing.T) {
	t.Parallel()
	overlay.Check(t, hasty...)
}

const (
	mpToken    = "a-token-of-ours"
	cardToken  = "another-token-of-ours"
	cardKey    = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"
	cardSent   = `{"card_type":"button_interaction","main_title":{"title":"Leave"},"button_list":[{"text":"Approve","key":"approve"},{"text":"Reject","key":"reject"}]}`
	gatewayKey = "a-secret-of-ours"
)

// rare are what stands in a database after months: access tokens, receipts that are awaited and such that nobody has asked for, what was
// pressed, dead letters, counts of hours, what is sealed in the chain, what a key has been charged with.
func rare(t *testing.T, h *house.House, c *client.Client, tables *sql.DB, db house.Database) {
	t.Helper()
	ctx := t.Context()
	applications(t, h, c)
	campaigned := wire.CampaignDraft{Name: "autumn", Channel: "mp", Content: &posthouse.Content{Text: "hello"}, OnUnknown: posthouse.Hold}
	h.Campaign(t, campaigned, 20)
	h.Reached(t, campaigned.Name, 20)
	made, err := c.Keys.Create(ctx, wire.Key{Name: "a branch with a quota", Scope: posthouse.ScopeSend, Quota: posthouse.Quota{Open: 100}})
	if err == nil {
		body := fmt.Sprintf(`{"channel": "desk", "to": [{"user": "branch-1"}], "content": {"text": "hello"}, "kind": %q}`, later)
		posted(t, "http://"+h.Members[0].Addr+"/v1/messages", made.Secret, body)
	}
	file := func(name string) string {
		text, err := fs.ReadFile(presets.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), "preset: bark", "preset: bark_of_ours")
	}
	if err == nil {
		_, err = c.Presets.Put(ctx, "bark_of_ours", wire.PresetFile{Text: file("bark.yaml"), Shapes: file("bark.shapes")})
	}
	if err == nil {
		err = rejected(t, tables, db)
	}
	if err != nil {
		t.Fatal(err)
	}
	told(t, h, c, "mp", "cards", "texts", "branches", "desk")
}

// applications are channels whose providers know tokens, receipts and events, and what these have told.
func applications(t *testing.T, h *house.House, c *client.Client) {
	t.Helper()
	ctx := t.Context()
	put := func(name, driver string, config map[string]any) string {
		ch := posthouse.Channel{Name: name, Driver: driver, Config: config}
		ch.OnUnknown = posthouse.Hold
		h.PutChannel(t, ch)
		door, err := c.Callbacks.Create(ctx, name, "")
		if err != nil {
			t.Fatal(err)
		}
		return door.Path
	}
	put("mp", "wechat", map[string]any{"url": h.Provider.URL + "/wechat", "app_id": "wx1", "secret": gatewayKey, "template_id": "t1", "callback_token": mpToken})
	cards := put("cards", "wecom", map[string]any{
		"url": h.Provider.URL + "/wecom", "corp_id": "ww1", "agent_id": 1000002, "secret": gatewayKey, "callback_token": cardToken, "callback_aes_key": cardKey,
	})
	texts := put("texts", "sms", map[string]any{
		"url": h.Provider.URL + "/sms_aliyun", "provider": "aliyun", "access_key": "an-id-of-ours", "secret": "simulated-secret", "sign": "驿站", "template_id": "SMS_1",
	})
	h.Provider.CallBack(t, "wecom", simulator.Callback{URL: "http://" + h.Members[0].Addr + cards, Token: cardToken, AESKey: cardKey, Receiver: "ww1"})
	for _, d := range []posthouse.Draft{
		{Channel: "mp", To: []posthouse.Recipient{{User: "ann", Address: "oABC-0000000000000000000001"}}, Content: &posthouse.Content{Text: "hello"}},
		{Channel: "cards", To: []posthouse.Recipient{{User: "u-li", Address: "li.na"}}, Content: &posthouse.Content{Type: posthouse.TemplateContent, Extra: json.RawMessage(cardSent)}},
		{Channel: "texts", To: []posthouse.Recipient{{Address: "+8613800138000"}}, Content: &posthouse.Content{Text: "hello"}},
		{Channel: "branches", To: []posthouse.Recipient{{User: "ann"}}, Content: &posthouse.Content{Text: "hello"}},
	} {
		if _, err := c.Messages.Send(ctx, d); err != nil {
			t.Fatal(err)
		}
		house.Until(t, "a message of channel "+d.Channel+" to be sent", func() bool {
			page, err := c.Deliveries.List(ctx, client.Filter{Channel: d.Channel})
			if err != nil || len(page.Items) == 0 {
				return false
			}
			if page.Items[0].State == posthouse.Failed || page.Items[0].State == posthouse.Unknown {
				t.Fatalf("the message of channel %s is %+v", d.Channel, page.Items[0])
			}
			return page.Items[0].State == posthouse.Sent
		})
	}
	posted(t, h.Provider.URL+"/wecom/press", "", `{"user": "li.na"}`)
	posted(t, "http://"+h.Members[0].Addr+texts, "", `[{"phone_number": "13800138001", "success": true, "err_code": "DELIVERED", "biz_id": "of-nobody"}]`)
}

// posted is a call as a system or a provider makes it.
func posted(t *testing.T, url, key, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		t.Fatalf("POST %s: %s", url, resp.Status)
	}
}

// rejected leaves a row in the outbox that names a channel that is not there.
func rejected(t *testing.T, tables *sql.DB, db house.Database) error {
	of := map[house.Database]outbox.Database{house.SQLite: outbox.SQLite, house.Postgres: outbox.Postgres, house.MariaDB: outbox.MySQL}
	box, err := outbox.New(outbox.Options{Database: of[db]})
	if err != nil {
		return err
	}
	tx, err := tables.BeginTx(t.Context(), nil)
	if err != nil {
		return err
	}
	_, err = box.Enqueue(t.Context(), tx, posthouse.Draft{Channel: "of-nobody", To: []posthouse.Recipient{{User: "ann"}}, Content: &posthouse.Content{Text: "hello"}})
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// aged waits until the hasty program has written what only comes with time.
func aged(t *testing.T, tables *sql.DB, db house.Database) {
	t.Helper()
	names := []string{"hours", "dead_letters", "checkpoints", "rates", "tokens", "awaited", "heard", "callback_events", "member_refs", "charges", "presets", "outbox", "limits"}
	if db != house.SQLite {
		names = append(names, "late")
	}
	for _, name := range names {
		house.Until(t, "something in table "+name, func() bool { return rowsIn(t, tables, "posthouse_"+name) > 0 })
	}
}

func rowsIn(t *testing.T, tables *sql.DB, table string) (n int) {
	t.Helper()
	if err := tables.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
		n = 0 // SQLite may be busy for a moment
	}
	return n
}

// unread keeps the feed's reader from its inbox: what happens from now on stays there. The caller ends it when the server is gone.
func unread(t *testing.T, tables *sql.DB, db house.Database) (end func()) {
	t.Helper()
	if db == house.SQLite {
		return func() {}
	}
	tx, err := tables.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var value string
	if err := tx.QueryRowContext(t.Context(), "SELECT value FROM posthouse_meta WHERE name = 'feed' FOR UPDATE").Scan(&value); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
}
