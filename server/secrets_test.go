package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

// corporation is a WeCom that knows the secrets which begin with good, and counts the wrong ones.
type corporation struct {
	mu    sync.Mutex
	wrong int
}

func (c *corporation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case !strings.HasSuffix(r.URL.Path, "/gettoken"):
		_, _ = w.Write([]byte(`{"errcode":0,"errmsg":"ok","msgid":"m"}`))
	case strings.HasPrefix(r.URL.Query().Get("corpsecret"), "good"):
		_, _ = w.Write([]byte(`{"errcode":0,"errmsg":"ok","access_token":"t","expires_in":7200}`))
	default:
		c.mu.Lock()
		c.wrong++
		c.mu.Unlock()
		_, _ = w.Write([]byte(`{"errcode":40001,"errmsg":"invalid credential"}`))
	}
}

func (c *corporation) refused() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrong
}

// Of many wrong secrets the processes of a database show a corporation no more together than one may. The rest are parked until then, also one
// that is right and new.
func TestFLEET_WrongSecretsAreBoundedOverProcesses(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		var corp corporation
		provider := httptest.NewServer(&corp)
		h.Cleanup(provider.Close)
		h.put(posthouse.Channel{Name: "fleet", Driver: "wecom", Config: map[string]any{"url": provider.URL, "corp_id": "ww1"}, ChannelSettings: posthouse.ChannelSettings{Accounts: true}})
		if !strings.Contains(h.Name(), "sqlite") { // which one process has
			h.beside()
		}
		const wrong = 20
		for i := range wrong {
			name := fmt.Sprintf("wrong%02d", i)
			_, _, err := h.api.Accounts.Put(h.Context(), "fleet", posthouse.Account{Name: name, Config: map[string]any{"agent_id": 1000 + i, "secret": name}})
			h.must(err)
		}
		for i := range wrong {
			h.hand(posthouse.Draft{Channel: "fleet", Account: fmt.Sprintf("wrong%02d", i), To: []posthouse.Recipient{{User: "u"}}, Content: &posthouse.Content{Text: fmt.Sprint(i)}})
		}
		parked := func() (by map[string]int) {
			page, err := h.api.Accounts.List(h.Context(), client.Filter{Channel: "fleet", Limit: 100})
			h.must(err)
			by = map[string]int{}
			for _, a := range page.Items {
				code := ""
				for _, known := range []string{"40001", "TOO_MANY_WRONG_SECRETS"} {
					if strings.Contains(a.StateReason, known) {
						code = known
					}
				}
				by[code]++
			}
			return by
		}
		h.eventually("each account is parked", func() bool { by := parked(); return by["40001"] == 8 && by["TOO_MANY_WRONG_SECRETS"] == wrong-8 })
		_, _, err := h.api.Accounts.Put(h.Context(), "fleet", posthouse.Account{Name: "right", Config: map[string]any{"agent_id": 1, "secret": "good"}})
		h.must(err)
		sent := h.hand(posthouse.Draft{Channel: "fleet", To: []posthouse.Recipient{{User: "u"}}, Content: &posthouse.Content{Text: "by any"}})
		h.eventually("a message waits, since the new account is not shown either", func() bool {
			return parked()["TOO_MANY_WRONG_SECRETS"] == wrong-8+1 && h.delivery(sent.Deliveries[0].ID).State == posthouse.Pending // an account is parked before the result is recorded
		})
		if n := corp.refused(); n != 8 {
			h.Errorf("the corporation was shown %d wrong secrets within a minute, want 8", n)
		}
	})
}
