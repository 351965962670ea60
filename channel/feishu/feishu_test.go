package feishu_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/feishu"
	"github.com/posthouse/posthouse/simulator"
)

const secret = "a-secret-of-ours-0123456789abcdef"

func at(url string) map[string]any {
	return map[string]any{"app_id": "cli_a1b2c3d4", "app_secret": secret, "url": url}
}

// driver opens one that may reach the fake providers.
func driver(t *testing.T, config map[string]any, set map[string]any, change ...func(*channel.Env)) channel.BatchDriver {
	t.Helper()
	config = maps.Clone(config)
	maps.Copy(config, set)
	c, problems := feishu.Type().Validate(config)
	if len(problems) > 0 {
		t.Fatalf("the configuration is refused: %+v", problems)
	}
	env := channel.Env{Tenant: "t1", Channel: "c1", KeepAnswers: true, Log: slog.New(slog.DiscardHandler), Network: channel.Network{AllowPrivate: true}}
	for _, f := range change {
		f(&env)
	}
	d, err := feishu.Type().Open(c, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.(io.Closer).Close() })
	return d.(channel.BatchDriver)
}

// to is a message to some addresses.
func to(addresses ...string) []channel.Outgoing {
	message := posthouse.NewID()
	outs := make([]channel.Outgoing, len(addresses))
	for i, a := range addresses {
		id := posthouse.DeliveryID(message, i+1)
		outs[i] = channel.Outgoing{
			Message: message, Delivery: id, IdemKey: id, Attempt: 1, Recipient: posthouse.Recipient{User: fmt.Sprint("u", i+1), Address: a},
			Content: posthouse.Content{Title: "值班", Text: "今晚 18:00"},
		}
	}
	return outs
}

// gives answers a call for an access token, and reports whether it was one.
func gives(w http.ResponseWriter, r *http.Request) bool {
	if !strings.HasSuffix(r.URL.Path, "/tenant_access_token/internal") {
		return false
	}
	channeltest.Reply(200, `{"code":0,"msg":"ok","tenant_access_token":"t-an-access-token-of-ours","expire":7200}`)(w, r)
	return true
}

// answering answers one body to all calls but those for tokens.
func answering(t *testing.T, status int, body string, header ...string) *channeltest.Provider {
	t.Helper()
	return channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
		if gives(w, r) {
			return
		}
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		channeltest.Reply(status, body)(w, r)
	})
}

const taken = `{"code":0,"msg":"success","data":{"message_id":"om_dc13264520392913993dd051dba21dcf"}}`

func TestContract(t *testing.T) {
	for name, batch := range map[string]int{"one by one": 1, "together": 200} {
		t.Run(name, func(t *testing.T) {
			channeltest.Run(t, channeltest.Case{
				Type: feishu.Type(), Aside: gives, Accept: channeltest.Reply(200, taken),
				Config:  func(url string) map[string]any { c := at(url); c["batch"] = batch; return c },
				Address: func(string) string { return "ou_7d8a6e6df7621556ce0d21922b676706ccs" },
				Secrets: []string{secret, "t-an-access-token-of-ours"},
				Recalls: []channeltest.Recall{{Ref: "om_dc13264520392913993dd051dba21dcf"}, {Ref: "bm-dc13264520392913993dd051dba21dcf"}},
			})
		})
	}
}

func TestAMessageInFeishusForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		to      string
		content posthouse.Content
		set     map[string]any
		kind    string
		want    string
	}{
		"a text": {to: "ou_1", content: posthouse.Content{Title: "值班", Text: "今晚 <18:00>"}, kind: "open_id", want: `text {"text":"值班\n今晚 <18:00>"}`},
		"a text that calls people": {
			to: "oc_1", content: posthouse.Content{Text: "看一下", Mentions: []string{"ou_2", `ou_"3`}, MentionAll: true}, kind: "chat_id",
			want: `text {"text":"<at user_id=\"all\"></at><at user_id=\"ou_2\"></at><at user_id=\"ou_3\"></at> 看一下"}`,
		},
		"Markdown": {
			to: "li.na@example.com", content: posthouse.Content{Title: "告警", Text: "**db** 慢"}, set: map[string]any{"format": "markdown"}, kind: "email",
			want: `interactive {"body":{"elements":[{"content":"**db** 慢","tag":"markdown"}]},"header":{"title":{"content":"告警","tag":"plain_text"}},"schema":"2.0"}`,
		},
		"a card": {
			to: "on_1", content: posthouse.Content{Type: posthouse.CardContent, Title: "审批", Text: "请处理", Extra: json.RawMessage(`{"url":"https://oa.example.com/1","button":"去处理"}`)}, kind: "union_id",
			want: `interactive {"body":{"elements":[{"content":"请处理","tag":"markdown"},{"behaviors":[{"default_url":"https://oa.example.com/1","type":"open_url"}],"tag":"button","text":{"content":"去处理","tag":"plain_text"},"type":"primary"}]},"header":{"title":{"content":"审批","tag":"plain_text"}},"schema":"2.0"}`,
		},
		"a card that is kept at Feishu": {
			to: "7d8a6e6d", content: posthouse.Content{Type: posthouse.TemplateContent, Extra: json.RawMessage(`{"template_id":"AAq1","template_variable":{"name":"李娜"}}`)}, kind: "user_id",
			want: `interactive {"data":{"template_id":"AAq1","template_variable":{"name":"李娜"}},"type":"template"}`,
		},
		"a card of version 1": {to: "ou_1", content: posthouse.Content{Type: posthouse.TemplateContent, Extra: json.RawMessage(`{"elements":[]}`)}, kind: "open_id", want: `interactive {"elements":[]}`},
		"a picture":           {to: "ou_1", content: posthouse.Content{Type: posthouse.ImageContent, Media: []posthouse.Media{{ID: "img_v2_1"}}}, kind: "open_id", want: `image {"image_key":"img_v2_1"}`},
		"a file":              {to: "ou_1", content: posthouse.Content{Type: posthouse.FileContent, Media: []posthouse.Media{{ID: "file_v2_1"}}}, kind: "open_id", want: `file {"file_key":"file_v2_1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := answering(t, 200, taken)
			out := to(c.to)[0]
			out.Content = c.content
			config, _ := feishu.Type().Validate(at(p.URL))
			if problems := feishu.Type().Content(config, c.content); len(problems) > 0 {
				t.Errorf("it is refused: %+v", problems)
			}
			if r := driver(t, at(p.URL), c.set).Send(t.Context(), out); r.Class != posthouse.ClassOK || r.Ref != "om_dc13264520392913993dd051dba21dcf" {
				t.Errorf("got %+v", r)
			}
			all := p.Arrivals()
			last := all[len(all)-1]
			var in struct {
				To      string `json:"receive_id"`
				Kind    string `json:"msg_type"`
				Content string `json:"content"`
				UUID    string `json:"uuid"`
			}
			if err := json.Unmarshal(last.Body, &in); err != nil {
				t.Fatal(err)
			}
			if last.Target != "/open-apis/im/v1/messages?receive_id_type="+c.kind || in.To != c.to || in.UUID != out.IdemKey || last.Header.Get("Authorization") != "Bearer t-an-access-token-of-ours" {
				t.Errorf("it was posted to %s: %s", last.Target, last.Body)
			}
			if diff := cmp.Diff(c.want, in.Kind+" "+in.Content); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestManyPeopleInOneCall(t *testing.T) {
	t.Parallel()
	p := answering(t, 200, `{"code":0,"msg":"ok","data":{"message_id":"bm-1","invalid_open_ids":["ou_2"],"invalid_user_ids":["u9"]}}`)
	d := driver(t, at(p.URL), map[string]any{"batch": 200})
	var got []posthouse.Class
	for _, r := range d.SendBatch(t.Context(), to("ou_1", "ou_2", "u9", "on_3")) {
		got = append(got, r.Class)
	}
	if want := []posthouse.Class{posthouse.ClassOK, posthouse.ClassRecipient, posthouse.ClassRecipient, posthouse.ClassOK}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	all := p.Arrivals()
	want := `{"content":{"text":"值班\n今晚 18:00"},"msg_type":"text","open_ids":["ou_1","ou_2"],"union_ids":["on_3"],"user_ids":["u9"]}`
	if last := all[len(all)-1]; last.Target != "/open-apis/message/v4/batch_send/" || string(last.Body) != want {
		t.Errorf("%s: %s", last.Target, last.Body)
	}
	d.SendBatch(t.Context(), to("ou_1", "oc_2"))
	if n := len(p.Arrivals()) - len(all); n != 2 {
		t.Errorf("a chat and a person took %d calls, want one each", n)
	}
}

func TestFeishusCodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		reset  string
		own    map[string]posthouse.Class
		want   channel.Result
	}{
		"too many":                 {400, `{"code":99991400,"msg":"request trigger frequency limit"}`, "7", nil, channel.Result{Class: posthouse.ClassRate, Code: "99991400", After: 7 * time.Second}},
		"too many, and no header":  {429, `{"code":99991400,"msg":"request trigger frequency limit"}`, "", nil, channel.Result{Class: posthouse.ClassRate, Code: "99991400", After: time.Minute}},
		"too many for one chat":    {200, `{"code":230020,"msg":"frequency"}`, "", nil, channel.Result{Class: posthouse.ClassTransient, Code: "230020", After: time.Second}},
		"no such person":           {400, `{"code":230001,"msg":"Your request contains an invalid request parameter, ext=invalid receive_id"}`, "", nil, channel.Result{Class: posthouse.ClassRecipient, Code: "230001"}},
		"another parameter":        {400, `{"code":230001,"msg":"invalid msg_type"}`, "", nil, channel.Result{Class: posthouse.ClassRequest, Code: "230001"}},
		"not in the chat":          {400, `{"code":230002,"msg":"Bot/User can NOT be out of the chat."}`, "", nil, channel.Result{Class: posthouse.ClassRecipient, Code: "230002"}},
		"a right is missing":       {400, `{"code":99991672,"msg":"Access denied."}`, "", nil, channel.Result{Class: posthouse.ClassAccount, Code: "99991672"}},
		"a code that is not known": {400, `{"code":777,"msg":"?"}`, "", nil, channel.Result{Class: posthouse.ClassTransient, Code: "777"}},
		"a code of the channel's":  {400, `{"code":777,"msg":"?"}`, "", map[string]posthouse.Class{"777": posthouse.ClassContent}, channel.Result{Class: posthouse.ClassContent, Code: "777"}},
		"a failure nobody knows":   {500, `{"code":2200,"msg":"Internal Error"}`, "", nil, channel.Result{Class: posthouse.ClassUnknown, Code: "2200"}},
		"an error of its own":      {502, `<html>`, "", nil, channel.Result{Class: posthouse.ClassUnknown, Code: "HTTP_502"}},
		"200 without a code":       {200, `<html>`, "", nil, channel.Result{Class: posthouse.ClassUnknown}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := answering(t, c.status, c.body, "X-Ogw-Ratelimit-Reset", c.reset)
			r := driver(t, at(p.URL), nil, func(e *channel.Env) { e.Codes = c.own }).Send(t.Context(), to("ou_1")[0])
			if diff := cmp.Diff(c.want, channel.Result{Class: r.Class, Code: r.Code, After: r.After}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A token that Feishu no longer takes is fetched anew, and the call is made once more.
func TestARefusedTokenIsFetchedAnew(t *testing.T) {
	t.Parallel()
	given := 0
	p := channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/internal"):
			given++
			channeltest.Reply(200, fmt.Sprintf(`{"code":0,"tenant_access_token":"t-%d","expire":7200}`, given))(w, r)
		case r.Header.Get("Authorization") == "Bearer t-1":
			channeltest.Reply(400, `{"code":99991663,"msg":"Invalid access token for authorization."}`)(w, r)
		default:
			channeltest.Reply(200, taken)(w, r)
		}
	})
	if r := driver(t, at(p.URL), nil).Send(t.Context(), to("ou_1")[0]); r.Class != posthouse.ClassOK || given != 2 {
		t.Errorf("got %+v after %d tokens", r, given)
	}
}

func TestWhatFeishuDoesNotTakeIsRefusedAtAccept(t *testing.T) {
	t.Parallel()
	config, _ := feishu.Type().Validate(at("https://open.feishu.cn"))
	for path, c := range map[string]posthouse.Content{
		"content.type":            {Type: posthouse.VoiceContent},
		"content.media":           {Type: posthouse.ImageContent},
		"content.media[0].upload": {Type: posthouse.ImageContent, Media: []posthouse.Media{{Upload: "f1", Size: 11 << 20, Type: "image/png"}}},
		"content.extra":           {Type: posthouse.CardContent, Text: "x", Extra: json.RawMessage(`{"url":"javascript:1"}`)},
		"content.mentions":        {Type: posthouse.ImageContent, Media: []posthouse.Media{{ID: "i"}}, Mentions: []string{"a"}},
		"content.text":            {Type: posthouse.MarkdownContent, Text: strings.Repeat("长", 11000)},
	} {
		if problems := feishu.Type().Content(config, c); len(problems) != 1 || problems[0].Path != path {
			t.Errorf("%s: got %+v", path, problems)
		}
	}
}

// sealed is what Feishu posts: encrypted by the key, and signed.
func sealed(key, text string, now time.Time) channel.Callback {
	sum := sha256.Sum256([]byte(key))
	block, _ := aes.NewCipher(sum[:])
	fill := aes.BlockSize - len(text)%aes.BlockSize
	plain := append([]byte(text), []byte(strings.Repeat(string(rune(fill)), fill))...)
	out := make([]byte, aes.BlockSize+len(plain))
	copy(out, "0123456789abcdef")
	cipher.NewCBCEncrypter(block, out[:aes.BlockSize]).CryptBlocks(out[aes.BlockSize:], plain)
	body, _ := json.Marshal(map[string]string{"encrypt": base64.StdEncoding.EncodeToString(out)})
	stamp := fmt.Sprint(now.Unix())
	signature := sha256.Sum256([]byte(stamp + "n1" + key + string(body)))
	return channel.Callback{Method: "POST", Body: body, At: now, Header: http.Header{
		"X-Lark-Request-Timestamp": {stamp}, "X-Lark-Request-Nonce": {"n1"}, "X-Lark-Signature": {hex.EncodeToString(signature[:])},
	}}
}

const press = `{"schema":"2.0","header":{"event_id":"e1","event_type":"card.action.trigger","create_time":"1603977298000000","token":"v","app_id":"cli_1"},
 "event":{"operator":{"open_id":"ou_1","user_id":"u1"},"action":{"tag":"button","name":"ok","value":{"order":7}},"context":{"open_message_id":"om_1","open_chat_id":"oc_1"}}}`

func TestWhatIsPressedOnACardIsTold(t *testing.T) {
	t.Parallel()
	d := driver(t, at("http://127.0.0.1:1"), map[string]any{"encrypt_key": "an-encrypt-key"}).(channel.Receiver)
	now := time.Now()
	heard, err := d.Receive(sealed("an-encrypt-key", press, now))
	if err != nil || len(heard.Events) != 1 || heard.Answer != "{}" {
		t.Fatalf("got %+v, %v", heard, err)
	}
	want := posthouse.CallbackEvent{
		Event: "card.action.trigger", Address: "ou_1", At: time.Unix(1603977298, 0).UTC(), Key: "ok", CardType: "button",
		Fields: map[string]string{"message_id": "om_1", "chat_id": "oc_1", "user_id": "u1", "value.order": "7"},
	}
	if diff := cmp.Diff(want, heard.Events[0].CallbackEvent); diff != "" || heard.Events[0].Once != "e1" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for what, answer := range map[string]string{"another's card": heard.Events[0].Refusal, "what is over": heard.Events[0].Over} {
		var said struct {
			Toast struct {
				Type, Content string
				I18n          map[string]string
			}
		}
		if err := json.Unmarshal([]byte(answer), &said); err != nil || said.Toast.Type == "" || said.Toast.Content == "" || said.Toast.I18n["zh_cn"] == "" || said.Toast.I18n["en_us"] == "" {
			t.Errorf("a press of %s is answered with %s, %v", what, answer, err)
		}
	}
	heard, err = d.Receive(sealed("an-encrypt-key", `{"challenge":"ajls384kdj","token":"v","type":"url_verification"}`, now))
	if err != nil || heard.Answer != `{"challenge":"ajls384kdj"}` || len(heard.Events) != 0 {
		t.Errorf("the look at the address: %+v, %v", heard, err)
	}
}

func TestAForgedCallbackIsRefused(t *testing.T) {
	t.Parallel()
	d := driver(t, at("http://127.0.0.1:1"), map[string]any{"encrypt_key": "an-encrypt-key"}).(channel.Receiver)
	now := time.Now()
	unsigned := sealed("an-encrypt-key", press, now)
	unsigned.Header.Set("X-Lark-Signature", strings.Repeat("0", 64))
	old := sealed("an-encrypt-key", press, now.Add(-time.Hour))
	old.At = now
	for name, c := range map[string]channel.Callback{
		"another key":  sealed("another", press, now),
		"no signature": unsigned,
		"an old one":   old,
		"in clear":     {Method: "POST", Body: []byte(press), At: now},
		"a look":       {Method: "GET", At: now},
		"rubbish":      {Method: "POST", Body: []byte(`{"encrypt":"AAAA"}`), At: now},
	} {
		if heard, err := d.Receive(c); !errors.Is(err, channel.ErrForged) {
			t.Errorf("%s: %+v, %v", name, heard, err)
		}
	}
	if _, err := driver(t, at("http://127.0.0.1:1"), nil).(channel.Receiver).Receive(sealed("", press, now)); !errors.Is(err, channel.ErrForged) {
		t.Errorf("without a key: %v", err)
	}
}

func TestTheSimulatorTakesWhatIsSigned(t *testing.T) {
	sim := simulator.New(simulator.Options{Log: slog.New(slog.DiscardHandler)})
	if err := sim.Start(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sim.Stop(t.Context()) })
	d := driver(t, at(sim.URL()+"/feishu"), nil)
	for address, want := range map[string]posthouse.Class{
		"ou_1": posthouse.ClassOK, "fail-recipient": posthouse.ClassRecipient, "refuse-content": posthouse.ClassContent, "too-fast": posthouse.ClassRate, "lost-answer": posthouse.ClassUnknown,
	} {
		if r := d.Send(t.Context(), to(address)[0]); r.Class != want {
			t.Errorf("%s: got %+v, want %s", address, r, want)
		}
	}
	again := to("ou_9")[0]
	first, second := d.Send(t.Context(), again), d.Send(t.Context(), again)
	if first.Ref == "" || first.Ref != second.Ref {
		t.Errorf("a repeat has the refs %q and %q, want one", first.Ref, second.Ref)
	}
	var got []posthouse.Class
	for _, r := range driver(t, at(sim.URL()+"/feishu"), map[string]any{"batch": 200}).SendBatch(t.Context(), to("ou_1", "fail-recipient", "u3")) {
		got = append(got, r.Class)
	}
	if want := []posthouse.Class{posthouse.ClassOK, posthouse.ClassRecipient, posthouse.ClassOK}; !slices.Equal(got, want) {
		t.Errorf("of three: %v, want %v", got, want)
	}
	if r := driver(t, at(sim.URL()+"/feishu"), map[string]any{"app_secret": "wrong"}).Send(t.Context(), to("ou_1")[0]); r.Class != posthouse.ClassAccount {
		t.Errorf("with a wrong secret: %+v", r)
	}
}

// A file is fetched and uploaded once, by all who get it, and once more where Feishu has forgotten it.
func TestAFileIsUploadedOnce(t *testing.T) {
	t.Parallel()
	png := "\x89PNG\r\n\x1a\n and more"
	place := channeltest.NewProvider(t, channeltest.Reply(200, png))
	uploads, refuse := 0, false
	p := channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case gives(w, r):
		case strings.HasSuffix(r.URL.Path, "/im/v1/images"):
			uploads++
			channeltest.Reply(200, fmt.Sprintf(`{"code":0,"data":{"image_key":"img_%d"}}`, uploads))(w, r)
		case refuse:
			refuse = false
			channeltest.Reply(400, `{"code":230055,"msg":"The image key does not exist"}`)(w, r)
		default:
			channeltest.Reply(200, taken)(w, r)
		}
	})
	d := driver(t, at(p.URL), nil, func(e *channel.Env) {
		e.Egress = nil
	})
	out := to("ou_1", "ou_2")
	for i := range out {
		out[i].Content = posthouse.Content{Type: posthouse.ImageContent, Media: []posthouse.Media{{URL: place.URL + "/a.png"}}}
		if r := d.Send(t.Context(), out[i]); r.Class != posthouse.ClassOK {
			t.Errorf("got %+v", r)
		}
	}
	if uploads != 1 {
		t.Errorf("%d uploads, want one", uploads)
	}
	refuse = true
	if r := d.Send(t.Context(), out[0]); r.Class != posthouse.ClassOK || uploads != 2 {
		t.Errorf("after Feishu forgot the file: %+v, %d uploads", r, uploads)
	}
	refuse = true
	together := driver(t, at(p.URL), map[string]any{"batch": 200})
	for _, r := range together.SendBatch(t.Context(), out) {
		if r.Class != posthouse.ClassOK || uploads != 4 { // another account's memory: once, and once more
			t.Errorf("together, after Feishu forgot the file: %+v, %d uploads", r, uploads)
		}
	}
	all := p.Arrivals()
	if last := string(all[len(all)-1].Body); !strings.Contains(last, `"content":{"image_key":"img_4"}`) {
		t.Errorf("the last message is %s", last)
	}
	gone := channeltest.NewProvider(t, channeltest.Reply(404, ""))
	out[0].Content.Media[0].URL = gone.URL + "/b.png"
	if r := d.Send(t.Context(), out[0]); r.Class != posthouse.ClassContent || r.Code != "BAD_MEDIA" {
		t.Errorf("a file that is gone: %+v", r)
	}
}
