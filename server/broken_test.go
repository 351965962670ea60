package server_test

import (
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/dbtest"
)

// spoilt are rows of a channel that cannot be opened, by what spoilt them.
var spoilt = map[string]string{
	"settings of a newer version":  `UPDATE posthouse_channels SET settings = '{"quantum": 1}', version = version + 1`,
	"a config that is no JSON":     `UPDATE posthouse_channels SET config = '{', version = version + 1`,
	"a secret of an unknown key":   `UPDATE posthouse_channels SET config = replace(config, ':test:', ':gone:'), version = version + 1`,
	"a driver that does not exist": `UPDATE posthouse_channels SET driver = 'telepathy', version = version + 1`,
}

func TestBrokenChannelRefusesForNowAndIsRepairedByPuttingItAnew(t *testing.T) {
	t.Parallel()
	for name, spoil := range spoilt {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, dbtest.SQLite(t))
			body := `{"channel": "hook", "to": [{"user": "u1"}], "content": {"text": "hello"}}`
			h.put(hook(h))
			if _, err := h.db.ExecContext(t.Context(), spoil); err != nil {
				t.Fatal(err)
			}
			h.eventually("/readyz names the channel", func() bool {
				_, answer := h.call(http.MethodGet, "/readyz", "", "")
				return len(answer["checks"].([]any)) == 2
			})
			if status, answer := h.call(http.MethodPost, "/v1/messages", "application/json", body); status != http.StatusServiceUnavailable {
				t.Errorf("a message for it gives %d: %v, want 503", status, answer)
			}
			masked := hook(h)
			masked.Config["secret"] = "********"
			if _, _, err := h.api.Channels.Put(t.Context(), masked); posthouse.CodeOf(err) != posthouse.CodeInvalid {
				t.Errorf("a mask for a secret that cannot be read gives %v, want invalid", err)
			}
			h.put(hook(h))
			status, answer := h.call(http.MethodPost, "/v1/messages", "application/json", body)
			if status != http.StatusAccepted {
				t.Fatalf("after the repair a message gives %d: %v", status, answer)
			}
			h.eventually("it is sent", func() bool {
				return h.number("SELECT COUNT(*) FROM posthouse_deliveries WHERE state = 'sent'") == 1
			})
		})
	}
}

// hook is a channel with a secret, to the simulator.
func hook(h *house) posthouse.Channel {
	return posthouse.Channel{
		Name: "hook", Driver: "webhook", ChannelSettings: atOnce(time.Second),
		Config: map[string]any{"url": h.sim.URL() + "/webhook/", "secret": "whsec_" + base64.StdEncoding.EncodeToString([]byte("a secret of twenty-four.."))},
	}
}
