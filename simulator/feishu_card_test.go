package simulator

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// larkCustomer is whom Feishu calls back: it looks at the signature, opens what is encrypted and hands on the events.
type larkCustomer struct {
	key   string
	heard chan string
}

func (c *larkCustomer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var in struct{ Encrypt string }
	sealed, err := []byte(nil), json.Unmarshal(body, &in)
	if err == nil {
		sealed, err = base64.StdEncoding.DecodeString(in.Encrypt)
	}
	key := sha256.Sum256([]byte(c.key))
	block, wrong := aes.NewCipher(key[:])
	if err != nil || wrong != nil || len(sealed) < 2*aes.BlockSize {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	open := make([]byte, len(sealed)-aes.BlockSize)
	cipher.NewCBCDecrypter(block, sealed[:aes.BlockSize]).CryptBlocks(open, sealed[aes.BlockSize:])
	text := string(open[:len(open)-int(open[len(open)-1])])
	var look struct{ Type, Challenge string }
	if json.Unmarshal([]byte(text), &look) == nil && look.Type == "url_verification" {
		_, _ = fmt.Fprintf(w, `{"challenge":%q}`, look.Challenge)
		return
	}
	sum := sha256.Sum256([]byte(r.Header.Get("X-Lark-Request-Timestamp") + r.Header.Get("X-Lark-Request-Nonce") + c.key + string(body)))
	if hex.EncodeToString(sum[:]) != r.Header.Get("X-Lark-Signature") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	c.heard <- text
}

// Cards of both versions are pressed by who got them, and one in a chat by a member; what cannot be pressed is refused with what could be.
func TestFeishuCardsArePressed(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	refuses := func(p Press, code posthouse.Code, says string) {
		t.Helper()
		p.Provider = "feishu"
		if err := sim.Press(p); posthouse.CodeOf(err) != code || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: got %v, want %s with %q", p, err, code, says)
		}
	}
	refuses(Press{User: "ou_1"}, posthouse.CodeConflict, "PUT /callbacks/feishu")
	c := &larkCustomer{"k", make(chan string, 10)}
	customer := httptest.NewServer(c)
	t.Cleanup(customer.Close)
	for _, key := range []string{"", "another"} {
		if err := sim.CallBack(t.Context(), "feishu", Callback{URL: customer.URL, AESKey: key}); posthouse.CodeOf(err) != posthouse.CodeInvalid {
			t.Errorf("with the encrypt key %q: %v", key, err)
		}
	}
	must(t, sim.CallBack(t.Context(), "feishu", Callback{URL: customer.URL, AESKey: "k"}))
	token := decode[map[string]any](t, call(t, "POST", url+"/feishu/open-apis/auth/v3/tenant_access_token/internal", `{"app_id":"cli_1","app_secret":"s"}`).body)["tenant_access_token"]
	send := func(to, kind, content string) (id string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/feishu/open-apis/im/v1/messages?receive_id_type=open_id", strings.NewReader(jsonLine(map[string]string{"receive_id": to, "msg_type": kind, "content": content})))
		must(t, err)
		req.Header.Set("Authorization", fmt.Sprint("Bearer ", token))
		res, err := http.DefaultClient.Do(req)
		must(t, err)
		defer res.Body.Close()
		var out struct {
			Data struct {
				ID string `json:"message_id"`
			}
		}
		must(t, json.NewDecoder(res.Body).Decode(&out))
		return out.Data.ID
	}
	old := `{"header":{"title":{"tag":"plain_text","content":"Disk"}},"elements":[{"tag":"div"},{"tag":"action","actions":[{"tag":"button","url":"https://example.org"},{"tag":"button","name":"ok","value":{"key":"a"}},{"tag":"button","name":"no","value":{"key":"b"}}]}]}`
	fresh := `{"schema":"2.0","body":{"elements":[{"tag":"column_set","columns":[{"tag":"column","elements":[{"tag":"button","behaviors":[{"type":"open_url"},{"type":"callback","value":{"key":"c"}}]}]}]}]}}`
	first := send("ou_1", "interactive", old)
	send("ou_1", "interactive", fresh)
	send("ou_1", "text", `{"text":"hello"}`)
	chat := send("oc_1", "interactive", old)
	refuses(Press{User: "ou_2"}, posthouse.CodeNotFound, "ou_2")
	refuses(Press{User: "ou_1", TaskID: first, Key: "maybe"}, posthouse.CodeInvalid, "ok, no")
	for _, p := range []struct {
		Press
		key, chat, open string
	}{
		{Press{User: "ou_1"}, "c", "oc_", "ou_1"},
		{Press{User: "ou_1", TaskID: first}, "a", "oc_", "ou_1"},
		{Press{User: "ou_1", TaskID: first, Key: "no", Times: 2}, "b", "oc_", "ou_1"},
		{Press{User: "u2", TaskID: chat}, "a", "oc_1", "ou_u2"},
	} {
		p.Provider = "feishu"
		must(t, sim.Press(p.Press))
		for range max(p.Times, 1) {
			got := decode[struct {
				Header struct {
					Type string `json:"event_type"`
				}
				Event struct {
					Operator struct {
						Open string `json:"open_id"`
					}
					Action  struct{ Value map[string]string }
					Context struct {
						Message string `json:"open_message_id"`
						Chat    string `json:"open_chat_id"`
					}
				}
			}](t, <-c.heard)
			if got.Header.Type != "card.action.trigger" || got.Event.Action.Value["key"] != p.key || !strings.HasPrefix(got.Event.Context.Chat, p.chat) || got.Event.Operator.Open != p.open || p.TaskID != "" && got.Event.Context.Message != p.TaskID {
				t.Errorf("%+v is told as %+v", p.Press, got)
			}
		}
	}
}
