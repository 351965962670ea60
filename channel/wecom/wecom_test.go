package wecom_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/wecom"
	"github.com/posthouse/posthouse/simulator"
)

// simulate starts the simulator for one test.
func simulate(t *testing.T) (*simulator.Simulator, string) {
	t.Helper()
	sim := simulator.New(simulator.Options{})
	server := httptest.NewServer(sim)
	t.Cleanup(server.Close)
	return sim, server.URL
}

// open opens a driver that may reach the simulator.
func open(t *testing.T, kind channel.Type, config map[string]any) channel.BatchDriver {
	t.Helper()
	c, problems := kind.Validate(config)
	if len(problems) > 0 {
		t.Fatalf("the configuration is refused: %+v", problems)
	}
	d, err := kind.Open(c, channel.Env{Tenant: "t1", Channel: "c1", Log: slog.New(slog.DiscardHandler), Network: channel.Network{AllowPrivate: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.(io.Closer).Close() })
	return d.(channel.BatchDriver)
}

func app(t *testing.T, url string, set ...any) channel.BatchDriver {
	t.Helper()
	config := map[string]any{"url": url + "/wecom", "corp_id": "ww1", "agent_id": 1000002, "secret": appSecret}
	for i := 0; i < len(set); i += 2 {
		config[set[i].(string)] = set[i+1]
	}
	return open(t, wecom.App(), config)
}

func robot(t *testing.T, url string, set ...any) channel.BatchDriver {
	t.Helper()
	config := map[string]any{"url": url + "/wecom_robot/cgi-bin/webhook/send", "key": robotKey}
	for i := 0; i < len(set); i += 2 {
		config[set[i].(string)] = set[i+1]
	}
	return open(t, wecom.Robot(), config)
}

// to is a message to some addresses; an empty one is a user without.
func to(c posthouse.Content, addresses ...string) []channel.Outgoing {
	message := posthouse.NewID()
	outs := make([]channel.Outgoing, len(addresses))
	for i, address := range addresses {
		id := posthouse.DeliveryID(message, i+1)
		outs[i] = channel.Outgoing{
			Message: message, Delivery: id, IdemKey: id, Attempt: 1, Content: c,
			Recipient: posthouse.Recipient{User: fmt.Sprintf("u%d", i+1), Address: address},
		}
	}
	return outs
}

var text = posthouse.Content{Title: "进站提醒", Text: "请提前准备"}

func classes(results []channel.Result) []posthouse.Class {
	var list []posthouse.Class
	for _, r := range results {
		list = append(list, r.Class)
	}
	return list
}

// told is what each user has of a provider.
func told(sim *simulator.Simulator, provider string) map[string]string {
	out := map[string]string{}
	for _, a := range sim.Arrivals(simulator.Filter{Provider: provider, Limit: 1000}) {
		if a.Answer != simulator.Refused && a.Code == "" && !a.Repeat {
			out[a.User] += a.Text
		}
	}
	return out
}

const (
	ok        = posthouse.ClassOK
	recipient = posthouse.ClassRecipient
)

// One call tells all, and names those who are not known.
func TestTheApplicationTellsWhomItDidNotReach(t *testing.T) {
	t.Parallel()
	sim, url := simulate(t)
	d := app(t, url)
	results := d.SendBatch(t.Context(), to(text, "ZhangSan", "fail-recipient-1", "", "party:12", "tag:7", "lisi", "ZhangSan"))
	if diff := cmp.Diff([]posthouse.Class{ok, recipient, recipient, ok, ok, ok, ok}, classes(results)); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
	if results[1].Code != "INVALID_USER" || results[0].Ref == "" {
		t.Errorf("got %+v", results)
	}
	results = d.SendBatch(t.Context(), to(text, "fail-recipient-1", "fail-recipient-2"))
	if diff := cmp.Diff([]posthouse.Class{recipient, recipient}, classes(results)); diff != "" || results[0].Code != "81013" {
		t.Errorf("nobody is known: %+v", results)
	}
	if n := sim.Status().Providers["wecom"].Requests; n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}

func TestTheApplicationRefreshesItsToken(t *testing.T) {
	t.Parallel()
	_, url := simulate(t)
	d := app(t, url)
	for i := range 3 {
		if got := d.Send(t.Context(), to(text, "a")[0]); got.Class != ok {
			t.Errorf("send %d: got %+v, want ok", i, got)
		}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, url+"/wecom/tokens", http.NoBody)
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != http.StatusNoContent {
			t.Fatalf("the tokens were not dropped: %v", err)
		}
		res.Body.Close()
	}
	if got := app(t, url, "secret", "wrong").(channel.Tester).Test(t.Context()); got.Class != posthouse.ClassAccount {
		t.Errorf("a wrong secret: %+v", got)
	}
}

// The frequency limit parks for a minute, and for an hour where it is met again soon after.
func TestTheFrequencyLimitNamesItsWait(t *testing.T) {
	t.Parallel()
	_, url := simulate(t)
	d := robot(t, url)
	for i := range 22 {
		got := d.Send(t.Context(), to(text, "a")[0])
		if i < 20 && got.Class != ok || i >= 20 && (got.Class != posthouse.ClassRate || got.Code != "45009" || got.After != time.Minute) {
			t.Fatalf("post %d: got %+v", i+1, got)
		}
	}
	if got := robot(t, url, "key", "another").Send(t.Context(), to(text, "a")[0]); got.Class != ok {
		t.Errorf("another robot: got %+v, want ok", got)
	}
}

// What WeCom's codes mean.
func TestCodes(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]posthouse.Class{
		"-1": posthouse.ClassTransient, "45009": posthouse.ClassRate, "45033": posthouse.ClassRate, "60020": posthouse.ClassAccount,
		"60111": recipient, "44004": posthouse.ClassContent, "40058": posthouse.ClassRequest, "99999": posthouse.ClassTransient,
	} {
		p := channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
			if !giveToken(w, r) {
				fmt.Fprintf(w, `{"errcode":%s,"errmsg":"no, hint: [1]","msgid":""}`, code)
			}
		})
		got := open(t, wecom.App(), map[string]any{"url": p.URL, "corp_id": "ww1", "agent_id": 1, "secret": appSecret}).Send(t.Context(), to(text, "a")[0])
		if got.Class != want || got.Code != code || got.Error != "no" {
			t.Errorf("%s: got %+v, want %s", code, got, want)
		}
	}
}

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// shelf serves files, and counts how often each was fetched.
func shelf(t *testing.T, files map[string][]byte) (url string, fetched map[string]int) {
	t.Helper()
	fetched = map[string]int{}
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		fetched[r.URL.Path]++
		mu.Unlock()
		if body, ok := files[r.URL.Path]; ok {
			w.Write(body)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, fetched
}

func TestFilesAreUploadedOnce(t *testing.T) {
	t.Parallel()
	sim, url := simulate(t)
	from, fetched := shelf(t, map[string][]byte{"/a.png": picture(t), "/报告.pdf": []byte("%PDF-1.7 ..."), "/b.png": picture(t)})
	d := app(t, url)
	send := func(kind posthouse.ContentType, path, who string) channel.Result {
		return d.Send(t.Context(), to(posthouse.Content{Type: kind, Media: []posthouse.Media{{URL: from + path}}}, who)[0])
	}
	for _, who := range []string{"a", "b"} {
		if got := send(posthouse.ImageContent, "/a.png", who); got.Class != ok {
			t.Fatalf("an image: %+v", got)
		}
	}
	if got := send(posthouse.ImageContent, "/b.png", "c"); got.Class != ok {
		t.Fatalf("the same image by another name: %+v", got)
	}
	if got := send(posthouse.FileContent, "/报告.pdf", "d"); got.Class != ok {
		t.Fatalf("a file: %+v", got)
	}
	if fetched["/a.png"] != 1 || fetched["/b.png"] != 1 {
		t.Errorf("fetched %v, want each once", fetched)
	}
	if diff := cmp.Diff(map[string]string{
		"a": fmt.Sprintf("[image a.png, %d bytes]", len(picture(t))), "b": fmt.Sprintf("[image a.png, %d bytes]", len(picture(t))),
		"c": fmt.Sprintf("[image a.png, %d bytes]", len(picture(t))), "d": "[file 报告.pdf, 12 bytes]",
	}, told(sim, "wecom")); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// A file that is gone, too large or of another type than it says reaches nobody, and says why.
func TestBadFilesAreNamed(t *testing.T) {
	t.Parallel()
	sim, url := simulate(t)
	from, _ := shelf(t, map[string][]byte{"/a.txt": []byte("no picture at all"), "/large.png": append(picture(t), make([]byte, 3<<20)...), "/empty": {}})
	for path, want := range map[string]string{"/gone.png": "404", "/a.txt": "text/plain", "/large.png": "2097152", "/empty": "0 bytes"} {
		got := robot(t, url).Send(t.Context(), to(posthouse.Content{Type: posthouse.ImageContent, Media: []posthouse.Media{{URL: from + path}}}, "a")[0])
		if got.Class != posthouse.ClassContent || got.Code != "BAD_MEDIA" || !strings.Contains(got.Error, want) {
			t.Errorf("%s: got %+v, want %q named", path, got, want)
		}
	}
	if got := robot(t, url).Send(t.Context(), to(posthouse.Content{Type: posthouse.ImageContent, Media: []posthouse.Media{{URL: from + "/a.txt"}}}, "a")[0]); got.Ref != "" {
		t.Errorf("got %+v", got)
	}
	if n := sim.Status().Providers["wecom_robot"].Requests; n != 0 {
		t.Errorf("%d posts arrived", n)
	}
}

// What each type looks like at the provider.
func TestEachTypeArrives(t *testing.T) {
	t.Parallel()
	sim, url := simulate(t)
	from, _ := shelf(t, map[string][]byte{"/a.png": picture(t), "/a.amr": []byte("#!AMR\nxxxx"), "/a.mp4": []byte("ftypmp42....")})
	file := func(kind posthouse.ContentType, name string) posthouse.Content {
		return posthouse.Content{Type: kind, Media: []posthouse.Media{{URL: from + name}}}
	}
	contents := map[string]posthouse.Content{
		"text":     text,
		"markdown": {Type: posthouse.MarkdownContent, Title: "标题", Text: "**x**"},
		"image":    file(posthouse.ImageContent, "/a.png"),
		"voice":    file(posthouse.VoiceContent, "/a.amr"),
		"news":     {Type: posthouse.NewsContent, Extra: json.RawMessage(`{"articles":[{"title":"t","url":"https://example.com"}]}`)},
		"template": {Type: posthouse.TemplateContent, Extra: json.RawMessage(`{"card_type":"text_notice"}`)},
	}
	both := map[string]channel.BatchDriver{"wecom": app(t, url), "wecom_robot": robot(t, url)}
	for provider, d := range both {
		for name, c := range contents {
			if got := d.Send(t.Context(), to(c, name)[0]); got.Class != ok {
				t.Errorf("%s, %s: got %+v", provider, name, got)
			}
		}
	}
	for name, c := range map[string]posthouse.Content{
		"video": file(posthouse.VideoContent, "/a.mp4"),
		"card":  {Type: posthouse.CardContent, Title: "t", Text: "d", Extra: json.RawMessage(`{"url":"https://example.com"}`)},
	} {
		if got := both["wecom"].Send(t.Context(), to(c, name)[0]); got.Class != ok {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	if got := told(sim, "wecom"); got["text"] != "进站提醒\n请提前准备" || got["markdown"] != "### 标题\n**x**" || len(got) != 8 {
		t.Errorf("the application told %v", got)
	}
}

// What a content says beyond what we know goes along, and changes nothing of ours.
func TestExtraGoesAlong(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
		if !giveToken(w, r) {
			fmt.Fprint(w, `{"errcode":0,"errmsg":"ok","msgid":"1"}`)
		}
	})
	d := open(t, wecom.App(), map[string]any{"url": p.URL, "corp_id": "ww1", "agent_id": 1, "secret": appSecret})
	c := text
	c.Extra = json.RawMessage(`{"enable_id_trans":1,"msgtype":"image"}`)
	if got := d.Send(t.Context(), to(c, "a")[0]); got.Class != ok {
		t.Fatalf("got %+v", got)
	}
	arrivals := p.Arrivals()
	var body map[string]any
	if err := json.Unmarshal(arrivals[len(arrivals)-1].Body, &body); err != nil {
		t.Fatal(err)
	}
	if body["enable_id_trans"] != 1.0 || body["msgtype"] != "text" || body["touser"] != "a" {
		t.Errorf("the call is %v", body)
	}
}

// A robot mentions its recipients, by id and by number.
func TestTheRobotMentions(t *testing.T) {
	t.Parallel()
	var body struct {
		Text struct {
			Users  []string `json:"mentioned_list"`
			Phones []string `json:"mentioned_mobile_list"`
		} `json:"text"`
		Markdown struct {
			Content string `json:"content"`
		} `json:"markdown"`
	}
	p := channeltest.NewProvider(t, channeltest.Reply(200, `{"errcode":0,"errmsg":"ok"}`))
	post := func(config map[string]any, outs []channel.Outgoing) {
		t.Helper()
		open(t, wecom.Robot(), config).SendBatch(t.Context(), outs)
		arrivals := p.Arrivals()
		if err := json.Unmarshal(arrivals[len(arrivals)-1].Body, &body); err != nil {
			t.Fatal(err)
		}
	}
	config := map[string]any{"url": p.URL + "/cgi-bin/webhook/send", "key": robotKey, "mentions": 100}
	c := text
	c.Mentions = []string{"wangwu", "zhangsan", "@ALL"}
	post(config, to(c, "zhangsan", "13800138000", "lisi"))
	if diff := cmp.Diff([]string{"zhangsan", "lisi", "wangwu", "@all"}, body.Text.Users); diff != "" {
		t.Errorf("mentioned (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"13800138000"}, body.Text.Phones); diff != "" {
		t.Errorf("mentioned by number (-want +got):\n%s", diff)
	}
	config["format"] = "markdown"
	post(config, to(text, "zhangsan", "lisi"))
	if want := "### 进站提醒\n请提前准备\n<@zhangsan><@lisi>"; body.Markdown.Content != want {
		t.Errorf("got %q, want %q", body.Markdown.Content, want)
	}
}

// What cannot be sent is refused when the message is accepted, with its field and bound.
func TestOddContentsAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		kind channel.Type
		of   posthouse.Content
		want string
	}{
		{"a long text", wecom.App(), posthouse.Content{Text: strings.Repeat("字", 683)}, "content.text"},
		{"a text that just fits", wecom.App(), posthouse.Content{Text: strings.Repeat("字", 682)}, ""},
		{"Markdown of a robot", wecom.Robot(), posthouse.Content{Type: "markdown", Text: strings.Repeat("a", 4096)}, ""},
		{"long Markdown", wecom.Robot(), posthouse.Content{Type: "markdown", Text: strings.Repeat("a", 4097)}, "content.text"},
		{"a video of a robot", wecom.Robot(), posthouse.Content{Type: "video", Media: []posthouse.Media{{ID: "m"}}}, "content.type"},
		{"a card without a link", wecom.App(), posthouse.Content{Type: "card", Title: "t", Text: "d"}, "content.extra.url"},
		{"nine articles", wecom.App(), posthouse.Content{Type: "news", Extra: json.RawMessage(`{"articles":[{},{},{},{},{},{},{},{},{}]}`)}, "content.extra.articles"},
		{"a long title of an article", wecom.App(), posthouse.Content{Type: "news", Extra: json.RawMessage(`{"articles":[{"title":"` + strings.Repeat("字", 43) + `"}]}`)}, "content.extra.articles[0].title"},
		{"a long article", wecom.Robot(), posthouse.Content{Type: "news", Extra: json.RawMessage(`{"articles":[{"title":"t","description":"` + strings.Repeat("a", 513) + `"}]}`)}, "content.extra.articles[0].description"},
		{"an extra of the provider's", wecom.App(), posthouse.Content{Text: "x", Extra: json.RawMessage(`{"enable_id_trans":1}`)}, ""},
		{"an extra that is not the content's", wecom.App(), posthouse.Content{Text: "x", Extra: json.RawMessage(`{"touser":"@all"}`)}, "content.extra.touser"},
		{"an extra of a robot's", wecom.Robot(), posthouse.Content{Text: "x", Extra: json.RawMessage(`{"safe":0}`)}, "content.extra.safe"},
		{"mentions by an application", wecom.App(), posthouse.Content{Text: "x", Mentions: []string{"a"}}, "content.mentions"},
		{"a name that closes its mention", wecom.Robot(), posthouse.Content{Type: "markdown", Text: "x", Mentions: []string{"a> <@all"}}, "content.mentions[0]"},
		{"@all among the names in Markdown", wecom.Robot(), posthouse.Content{Type: "markdown", Text: "x", Mentions: []string{"@All"}}, "content.mentions[0]"},
		{"a blank text", wecom.App(), posthouse.Content{Text: " \n\u3000"}, "content.text"},
		{"blank Markdown of a robot", wecom.Robot(), posthouse.Content{Type: "markdown", Text: "\t"}, "content.text"},
		{"an article without a link", wecom.App(), posthouse.Content{Type: "news", Extra: json.RawMessage(`{"articles":[{"title":"t"}]}`)}, "content.extra.articles[0].url"},
		{"an article that opens a mini program", wecom.App(), posthouse.Content{Type: "news", Extra: json.RawMessage(`{"articles":[{"title":"t","appid":"wx123123123123123","pagepath":"pages/index"}]}`)}, ""},
		{"such an article of a robot", wecom.Robot(), posthouse.Content{Type: "news", Extra: json.RawMessage(`{"articles":[{"title":"t","appid":"wx123123123123123","pagepath":"pages/index"}]}`)}, "content.extra.articles[0].url"},
		{"an article whose link has no scheme", wecom.App(), posthouse.Content{Type: "news", Extra: json.RawMessage(`{"articles":[{"title":"t","url":"www.example.com"}]}`)}, "content.extra.articles[0].url"},
		{"a card whose link has no scheme", wecom.App(), posthouse.Content{Type: "card", Title: "t", Text: "d", Extra: json.RawMessage(`{"url":"www.example.com/x"}`)}, "content.extra.url"},
		{"a blank title of a card", wecom.App(), posthouse.Content{Type: "card", Title: " ", Text: "d", Extra: json.RawMessage(`{"url":"https://example.com"}`)}, "content.title"},
		{"a template card without a type", wecom.App(), posthouse.Content{Type: "template", Extra: json.RawMessage(`{"main_title":{"title":"t"}}`)}, "content.extra.card_type"},
		{"a template card of an unknown type", wecom.App(), posthouse.Content{Type: "template", Extra: json.RawMessage(`{"card_type":"text_note"}`)}, "content.extra.card_type"},
		{"a text notice without an action", wecom.App(), posthouse.Content{Type: "template", Extra: json.RawMessage(`{"card_type":"text_notice","main_title":{"title":"t"}}`)}, "content.extra.card_action"},
		{"a text notice without a link", wecom.Robot(), posthouse.Content{Type: "template", Extra: json.RawMessage(`{"card_type":"text_notice","main_title":{"title":"t"},"card_action":{"type":1}}`)}, "content.extra.card_action.url"},
		{"a text notice", wecom.App(), posthouse.Content{Type: "template", Extra: json.RawMessage(`{"card_type":"text_notice","main_title":{"title":"t"},"card_action":{"type":1,"url":"https://example.com"}}`)}, ""},
		{"a notice that opens a mini program", wecom.App(), posthouse.Content{Type: "template", Extra: json.RawMessage(`{"card_type":"news_notice","main_title":{"title":"t"},"card_image":{"url":"https://example.com/a.png"},"card_action":{"type":2,"appid":"wx123123123123123"}}`)}, ""},
		{"a text that nobody sees", wecom.App(), posthouse.Content{Text: "\u200b\u2060 \ufeff\u00ad"}, "content.text"},
		{"a card that a robot cannot send", wecom.Robot(), posthouse.Content{Type: "template", Extra: json.RawMessage(`{"card_type":"vote_interaction"}`)}, "content.extra.card_type"},
		{"@all in Markdown", wecom.Robot(), posthouse.Content{Type: "markdown", Text: "x", MentionAll: true}, "content.mention_all"},
	} {
		settings := map[string]any{"key": "k"}
		if c.kind.Name == "wecom" {
			settings = map[string]any{"corp_id": "w", "agent_id": 1, "secret": "s"}
		}
		config, _ := c.kind.Validate(settings)
		problems := c.kind.Content(config, c.of)
		got := ""
		if len(problems) > 0 {
			got = problems[0].Path
		}
		if got != c.want || len(problems) > 1 {
			t.Errorf("%s: got %+v, want one at %q", c.name, problems, c.want)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	plain, _ := wecom.App().Validate(map[string]any{"corp_id": "w", "agent_id": 1, "secret": "s"})
	open, _ := wecom.App().Validate(map[string]any{"corp_id": "w", "agent_id": 1, "secret": "s", "everyone": true})
	for address, good := range map[string]bool{"zhangsan": true, "party:12": true, "tag:1": true, "party:x": false, "a|b": false, "a b": false, "@all": false, strings.Repeat("x", 65): false} {
		if _, err := wecom.App().Address(plain, address); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := wecom.App().Address(open, "@all"); err != nil {
		t.Errorf("@all where it is allowed: %v", err)
	}
}

// names notes under which names tokens are kept.
type names struct {
	channel.MemoryTokens
	mu   sync.Mutex
	list []string
}

func (n *names) Token(ctx context.Context, name, stale string, fetch func(context.Context) (string, time.Duration, error)) (string, error) {
	n.mu.Lock()
	n.list = append(n.list, name)
	n.mu.Unlock()
	return n.MemoryTokens.Token(ctx, name, stale, fetch)
}

// Names of tokens are keys of a table, which has no room for whatever an account may be called.
func TestNamesOfTokensAreShort(t *testing.T) {
	t.Parallel()
	_, url := simulate(t)
	from, _ := shelf(t, map[string][]byte{"/a.png": picture(t)})
	c, problems := wecom.App().Validate(map[string]any{"url": url + "/wecom", "corp_id": strings.Repeat("w", 500), "agent_id": 1, "secret": appSecret})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	kept := new(names)
	d, err := wecom.App().Open(c, channel.Env{Tenant: "t1", Channel: "c1", Network: channel.Network{AllowPrivate: true}, Tokens: kept})
	if err != nil {
		t.Fatal(err)
	}
	defer d.(io.Closer).Close()
	out := to(posthouse.Content{Type: posthouse.ImageContent, Media: []posthouse.Media{{URL: from + "/a.png"}}}, "a")[0]
	if got := d.Send(t.Context(), out); got.Class != ok {
		t.Fatalf("got %+v", got)
	}
	for _, name := range kept.list {
		if len(name) > 255 {
			t.Errorf("a name has %d bytes: %.80s", len(name), name)
		}
	}
	if len(kept.list) < 2 {
		t.Errorf("tokens are kept as %v, want one of the account and one of the file", kept.list)
	}
}

func TestEverybodyInWordsOfWeCom(t *testing.T) {
	for _, c := range []struct {
		name string
		of   channel.Type
		raw  map[string]any
		out  channel.Outgoing
		want string
	}{
		{"the root department", wecom.App(), map[string]any{"corp_id": "w", "agent_id": 1, "secret": "s"}, channel.Outgoing{Recipient: posthouse.Recipient{Address: "party:1"}}, "address"},
		{"another department", wecom.App(), map[string]any{"corp_id": "w", "agent_id": 1, "secret": "s"}, channel.Outgoing{Recipient: posthouse.Recipient{Address: "party:11"}}, ""},
		{"a name that becomes <@all> in Markdown", wecom.Robot(), map[string]any{"key": "k"}, channel.Outgoing{Content: posthouse.Content{Mentions: []string{"zhangsan", "All"}}}, "content.mentions[1]"},
		{"an address that does", wecom.Robot(), map[string]any{"key": "k"}, channel.Outgoing{Recipient: posthouse.Recipient{Address: "all"}}, "address"},
		{"one name", wecom.Robot(), map[string]any{"key": "k"}, channel.Outgoing{Content: posthouse.Content{Mentions: []string{"allan"}}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			config, _ := c.of.Validate(c.raw)
			if got := c.of.Everybody(config, c.out); got != c.want {
				t.Errorf("everybody is called by %q, want %q", got, c.want)
			}
		})
	}
}

func TestAddressesOfWeComHaveOneForm(t *testing.T) {
	t.Parallel()
	raw := map[string]any{"corp_id": "w", "agent_id": 1, "secret": "s"}
	raw["everyone"] = true
	config, _ := wecom.App().Validate(raw)
	for text, want := range map[string]string{"U50": "u50", "@ALL": "@all", "＠all": "@all", "PARTY:01": "party:1", "tag:007": "tag:7"} {
		if got, err := wecom.App().Address(config, text); err != nil || got != want {
			t.Errorf("%q is kept as %q, %v; want %q", text, got, err, want)
		}
	}
}
