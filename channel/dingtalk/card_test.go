package dingtalk_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/channeltest"
	"github.com/posthouse/posthouse/channel/dingtalk"
	"github.com/posthouse/posthouse/simulator"
)

const cardSecret = "a-secret-of-cards"

// cardContent is a card with more members.
func cardContent(more string) posthouse.Content {
	return posthouse.Content{Type: posthouse.TemplateContent, Title: "磁盘已满", Extra: json.RawMessage(`{"cardTemplateId":"b4fd.schema","cardData":{"cardParamMap":{"title":"磁盘已满","ack_key":"k"}}` + more + `}`)}
}

func cardConfig(url string) map[string]any {
	config := workConfig(url)
	config["api_url"], config["token_from"], config["callback_route_key"], config["callback_secret"] = url, "oauth2", "posthouse", cardSecret
	return config
}

func cardTo(address string) channel.Outgoing {
	out := to(address)[0]
	out.Content = cardContent("")
	return out
}

func TestACardIsSentInItsForm(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, withToken(delivered))
	out := cardTo("li.na")
	if r := open(t, dingtalk.Work(), cardConfig(p.URL)).Send(t.Context(), out); r.Class != posthouse.ClassOK || r.Ref != "4v+AzUEDuC0dKuO" || r.Await != 0 {
		t.Errorf("got %+v, want ok, what DingTalk calls it, and no receipt", r)
	}
	arrivals := p.Arrivals()
	if len(arrivals) != 2 || arrivals[1].Target != "/v1.0/card/instances/createAndDeliver" || arrivals[1].Header.Get("X-Acs-Dingtalk-Access-Token") != accessToken {
		t.Fatalf("got %+v, want a token and one call", arrivals)
	}
	want := `{"cardTemplateId":"b4fd.schema","cardData":{"cardParamMap":{"ack_key":"k","title":"磁盘已满"}},` +
		`"imRobotOpenSpaceModel":{"supportForward":false,"lastMessageI18n":{"ZH_CN":"磁盘已满"},"notification":{"alertContent":"磁盘已满"}},` +
		`"outTrackId":"` + out.Delivery + `","callbackType":"HTTP","callbackRouteKey":"posthouse","imRobotOpenDeliverModel":{"spaceType":"IM_ROBOT","robotCode":"dingkey"},` +
		`"openSpaceId":"dtv1.card//IM_ROBOT.li.na","userIdType":1}`
	if diff := cmp.Diff(want, string(arrivals[1].Body)); diff != "" {
		t.Errorf("the body (-want +got):\n%s", diff)
	}
	config := cardConfig(p.URL)
	delete(config, "callback_route_key")
	config["robot_code"] = "dingrobot"
	out.Content = cardContent(`,"imRobotOpenSpaceModel":{"supportForward":true},"privateData":{"li.na":{"cardParamMap":{"x":"y"}}}`)
	open(t, dingtalk.Work(), config).Send(t.Context(), out)
	body := string(p.Arrivals()[3].Body)
	for _, part := range []string{`"privateData":{"li.na":{"cardParamMap":{"x":"y"}}},"imRobotOpenSpaceModel":{"supportForward":true},`, `"robotCode":"dingrobot"`} {
		if !strings.Contains(body, part) || strings.Contains(body, "callback") {
			t.Errorf("the body is %s, want it to hold %s and no callback", body, part)
		}
	}
}

func TestAnAddressOfSeveralPlacesIsNone(t *testing.T) {
	t.Parallel()
	p := channeltest.NewProvider(t, withToken(delivered))
	for _, address := range []string{"", "li.na;IM_ROBOT.wang"} {
		if r := open(t, dingtalk.Work(), cardConfig(p.URL)).Send(t.Context(), cardTo(address)); r.Class != posthouse.ClassRecipient || r.Code != "NO_ADDRESS" {
			t.Errorf("%q: got %+v", address, r)
		}
	}
	if n := len(p.Arrivals()); n != 0 {
		t.Errorf("%d calls were made", n)
	}
}

func TestWhatTheAnswersToCardsMean(t *testing.T) {
	t.Parallel()
	refused := func(code string) string { return `{"code":"` + code + `","message":"no","requestid":"1"}` }
	for _, c := range []struct {
		status int
		body   string
		class  posthouse.Class
		code   string
		after  time.Duration
	}{
		{400, refused("param.userIdNotExist"), posthouse.ClassRecipient, "param.userIdNotExist", 0},
		{400, refused("param.contentUnsafe"), posthouse.ClassContent, "param.contentUnsafe", 0},
		{400, refused("param.templateUnpublished"), posthouse.ClassContent, "param.templateUnpublished", 0},
		{400, refused("param.invalid"), posthouse.ClassRequest, "param.invalid", 0},
		{400, refused("param.cardAlreadyExist"), posthouse.ClassUnknown, "param.cardAlreadyExist", 0},
		{500, refused("system.busy"), posthouse.ClassUnknown, "system.busy", 0},
		{500, refused("system.strange"), posthouse.ClassUnknown, "system.strange", 0},
		{403, refused("Forbidden.AccessDenied.QpsLimitForAppkeyAndApi"), posthouse.ClassRate, "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", time.Second},
		{403, refused("Forbidden.AccessDenied.ApiCountLimitForOrg"), posthouse.ClassAccount, "Forbidden.AccessDenied.ApiCountLimitForOrg", 0},
		{403, refused("Forbidden.AccessDenied.AccessTokenPermissionDenied"), posthouse.ClassAccount, "Forbidden.AccessDenied.AccessTokenPermissionDenied", 0},
		{400, refused("InvalidAuthentication"), posthouse.ClassAuth, "NO_TOKEN", 0},
		{200, `{"status":1111,"wait":5}`, posthouse.ClassRate, "1111", 5 * time.Minute},
		{200, strings.Replace(delivered, `"success":true,"carrierId"`, `"success":false,"errorMsg":"robot is not visible","carrierId"`, 1), posthouse.ClassRecipient, "NOT_DELIVERED", 0},
		{200, strings.Replace(delivered, `"success":true,"carrierId"`, `"success":false,"errorMsg":"SYSTEM_ERROR","carrierId"`, 1), posthouse.ClassUnknown, "system.busy", 0},
		{200, `{"success":true,"result":{"outTrackId":"t"}}`, posthouse.ClassUnknown, "", 0},
		{200, strings.Replace(delivered, `,"carrierId":"4v+AzUEDuC0dKuO"`, "", 1), posthouse.ClassOK, "", 0},
	} {
		p := channeltest.NewProvider(t, func(w http.ResponseWriter, r *http.Request) {
			if !giveToken(w, r) {
				channeltest.Reply(c.status, c.body)(w, r)
			}
		})
		if got := open(t, dingtalk.Work(), cardConfig(p.URL)).Send(t.Context(), cardTo("a")); got.Class != c.class || got.Code != c.code || got.After != c.after {
			t.Errorf("%s: got %q, code %q, after %s (%s), want %q", c.body, got.Class, got.Code, got.After, got.Error, c.class)
		}
	}
}

func TestWhatACardMaySay(t *testing.T) {
	t.Parallel()
	config, problems := dingtalk.Work().Validate(cardConfig("https://example.com"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	long := strings.Repeat("x", 1025)
	for name, c := range map[string]struct {
		content posthouse.Content
		path    string // of the problem, empty for none
	}{
		"a card":              {cardContent(""), ""},
		"a text":              {posthouse.Content{Title: "a", Text: "b"}, ""},
		"a text with extra":   {posthouse.Content{Text: "b", Extra: json.RawMessage(`{}`)}, "content.extra"},
		"a picture":           {posthouse.Content{Type: posthouse.ImageContent}, "content.type"},
		"no template":         {posthouse.Content{Type: posthouse.TemplateContent, Extra: json.RawMessage(`{"cardData":{"cardParamMap":{"a":"b"}}}`)}, "content.extra.cardTemplateId"},
		"no variables":        {posthouse.Content{Type: posthouse.TemplateContent, Extra: json.RawMessage(`{"cardTemplateId":"t"}`)}, "content.extra.cardData"},
		"a number":            {posthouse.Content{Type: posthouse.TemplateContent, Extra: json.RawMessage(`{"cardTemplateId":"t","cardData":{"cardParamMap":{"a":1}}}`)}, "content.extra.cardData"},
		"a long text":         {posthouse.Content{Type: posthouse.TemplateContent, Extra: json.RawMessage(`{"cardTemplateId":"t","cardData":{"cardParamMap":{"a":"` + long + `"}}}`)}, "content.extra.cardData"},
		"another person":      {cardContent(`,"openSpaceId":"dtv1.card//IM_ROBOT.boss"`), "content.extra.openSpaceId"},
		"another address":     {cardContent(`,"callbackRouteKey":"mine"`), "content.extra.callbackRouteKey"},
		"a space that is not": {cardContent(`,"imRobotOpenSpaceModel":"x"`), "content.extra.imRobotOpenSpaceModel"},
		"a text beside it":    {func() posthouse.Content { c := cardContent(""); c.Text = "b"; return c }(), "content.text"},
		"a mention":           {func() posthouse.Content { c := cardContent(""); c.MentionAll = true; return c }(), "content.mentions"},
	} {
		problems := dingtalk.Work().Content(config, c.content)
		if c.path == "" && len(problems) > 0 || c.path != "" && (len(problems) != 1 || problems[0].Path != c.path) {
			t.Errorf("%s: got %+v, want one of %q", name, problems, c.path)
		}
	}
	if _, problems := dingtalk.Work().Validate(map[string]any{"agent_id": "1", "app_key": "k", "app_secret": "s", "callback_route_key": "r"}); len(problems) != 1 || problems[0].Path != "config.callback_secret" {
		t.Errorf("a route key without a secret: got %+v", problems)
	}
	if dingtalk.Work().Shares(cardContent(""), "a") {
		t.Error("cards share a call")
	}
}

// signedPress is a call as DingTalk makes it, of a time.
func signedPress(at time.Time, secret, body string) channel.Callback {
	stamp := strconv.FormatInt(at.UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp))
	return channel.Callback{Method: http.MethodPost, At: time.Now(), Body: []byte(body), Header: http.Header{
		"X-Ddpaas-Signature-Timestamp": {stamp}, "X-Ddpaas-Signature": {base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}}
}

const press = `{"type":"actionCallback","outTrackId":"c.17","corpId":"ding1","userId":"li.na","content":"{\"cardPrivateData\":{\"actionIds\":[\"1\"],\"params\":{\"key\":\"ack.x\",\"n\":7}}}"}`

func TestWhatIsPressedIsTold(t *testing.T) {
	t.Parallel()
	d := open(t, dingtalk.Work(), cardConfig("http://127.0.0.1:1")).(channel.Receiver)
	hear := func(at time.Time, body string) channel.Heard {
		t.Helper()
		heard, err := d.Receive(signedPress(at, cardSecret, body))
		if err != nil {
			t.Fatal(err)
		}
		return heard
	}
	now := time.Now().Truncate(time.Millisecond).UTC()
	first := hear(now, press)
	want := channel.Event{Once: first.Events[0].Once, Delivery: "c.17", CallbackEvent: posthouse.CallbackEvent{
		Event: "actionCallback", Address: "li.na", At: now, Key: "1", TaskID: "c.17", Fields: map[string]string{"corpId": "ding1", "params.key": "ack.x", "params.n": "7"},
	}}
	if diff := cmp.Diff([]channel.Event{want}, first.Events); diff != "" || first.Kind != "actionCallback" || first.Answer != "{}" {
		t.Errorf("a press is heard otherwise (-want +got):\n%s", diff)
	}
	if again := hear(now, press); again.Once != first.Once || again.Events[0].Once != first.Events[0].Once {
		t.Error("the same call is another")
	}
	for name, other := range map[string]channel.Heard{
		"another person": hear(now, strings.Replace(press, "li.na", "wang", 1)), "another card": hear(now, strings.Replace(press, "c.17", "c.18", 1)),
		"another button": hear(now, strings.Replace(press, `\"1\"`, `\"2\"`, 1)), "another moment": hear(now.Add(-time.Millisecond), press),
	} {
		if other.Once == first.Once || other.Events[0].Once == first.Events[0].Once {
			t.Errorf("%s is the same call", name)
		}
	}
	// One page of DingTalk's says "value" in place of "content", and has the parameters beside cardPrivateData.
	older := hear(now, `{"outTrackId":"c.17","userId":"li.na","value":"{\"cardPrivateData\":{\"actionIds\":[\"1\"]},\"params\":{\"key\":\"ack.x\"}}"}`)
	if e := older.Events[0]; e.Event != "actionCallback" || e.Key != "1" || e.Fields["params.key"] != "ack.x" {
		t.Errorf("the other form is heard as %+v", e)
	}
	if data := hear(now, `{"type":"dynamicDataCallback","outTrackId":"c.17"}`); len(data.Events) != 0 || data.Kind != "dynamicDataCallback" {
		t.Errorf("a wish for data is heard as %+v", data)
	}
}

func TestWhatIsNotDingTalksIsRefused(t *testing.T) {
	t.Parallel()
	d := open(t, dingtalk.Work(), cardConfig("http://127.0.0.1:1")).(channel.Receiver)
	config := cardConfig("http://127.0.0.1:1")
	delete(config, "callback_route_key")
	delete(config, "callback_secret")
	bare := open(t, dingtalk.Work(), config).(channel.Receiver)
	now := time.Now()
	good := func() channel.Callback { return signedPress(now, cardSecret, press) }
	if _, err := d.Receive(good()); err != nil {
		t.Fatal(err)
	}
	but := func(change func(c *channel.Callback)) channel.Callback {
		c := good()
		change(&c)
		return c
	}
	for name, c := range map[string]struct {
		by channel.Receiver
		it channel.Callback
	}{
		"a channel without a secret": {bare, good()},
		"a GET":                      {d, but(func(c *channel.Callback) { c.Method = http.MethodGet })},
		"no signature":               {d, but(func(c *channel.Callback) { c.Header.Del("X-Ddpaas-Signature") })},
		"no time":                    {d, but(func(c *channel.Callback) { c.Header.Del("X-Ddpaas-Signature-Timestamp") })},
		"another secret":             {d, signedPress(now, "another", press)},
		"an old one":                 {d, signedPress(now.Add(-6*time.Minute), cardSecret, press)},
		"one of the future":          {d, signedPress(now.Add(6*time.Minute), cardSecret, press)},
		"another time's": {d, but(func(c *channel.Callback) {
			c.Header.Set("X-Ddpaas-Signature-Timestamp", strconv.FormatInt(now.UnixMilli()+1, 10))
		})},
		"no JSON":    {d, but(func(c *channel.Callback) { c.Body = []byte("x") })},
		"no content": {d, but(func(c *channel.Callback) { c.Body = []byte(`{"type":"actionCallback"}`) })},
	} {
		if heard, err := c.by.Receive(c.it); !errors.Is(err, channel.ErrForged) {
			t.Errorf("%s: heard %+v, %v", name, heard, err)
		}
	}
}

// The simulator takes cards by DingTalk's rules, and tells what is pressed under the address that was registered.
func TestTheSimulatorPlaysCards(t *testing.T) {
	t.Parallel()
	sim, url := simulate(t, simulator.Options{})
	d := open(t, dingtalk.Work(), cardConfig(url+"/dingtalk_card"))
	unknown, rate, content, recipient := posthouse.ClassUnknown, posthouse.ClassRate, posthouse.ClassContent, posthouse.ClassRecipient
	for user, want := range map[string]posthouse.Class{
		"li.na": posthouse.ClassOK, "fail-recipient": recipient, "refuse-content": content, "always-busy": unknown, "too-fast": rate, "lost-answer": unknown, "garbage": unknown,
	} {
		out := cardTo(user)
		if got := d.Send(t.Context(), out); got.Class != want {
			t.Errorf("%s: got %+v, want %s", user, got, want)
		}
		if a := sim.Arrivals(simulator.Filter{Provider: "dingtalk_card", User: user}); len(a) != 1 || a[0].Key != out.IdemKey {
			t.Errorf("%s: arrived %+v", user, a)
		}
	}
	came := make(chan struct{}, 1)
	ours := channeltest.NewProvider(t, func(http.ResponseWriter, *http.Request) { came <- struct{}{} })
	register := func(force bool) int {
		t.Helper()
		return posted(t, url+"/dingtalk_card/v1.0/card/callbacks/register", token(t, url+"/dingtalk_card"),
			fmt.Sprintf(`{"apiSecret":%q,"callbackUrl":%q,"callbackRouteKey":"posthouse","forceUpdate":%t}`, cardSecret, ours.URL, force), nil)
	}
	if got := []int{register(false), register(false), register(true)}; !cmp.Equal(got, []int{200, 500, 200}) {
		t.Errorf("to register twice is answered %v", got)
	}
	if err := sim.Press(simulator.Press{Provider: "dingtalk_card", User: "li.na"}); err != nil {
		t.Fatal(err)
	}
	<-came
	told := ours.Arrivals()[0]
	heard, err := d.(channel.Receiver).Receive(channel.Callback{Method: http.MethodPost, At: time.Now(), Header: told.Header, Body: told.Body})
	if err != nil || len(heard.Events) != 1 || heard.Events[0].Fields["params.ack_key"] != "k" || heard.Events[0].Address != "li.na" {
		t.Errorf("told is %s: heard %+v, %v", told.Body, heard, err)
	}
	for name, p := range map[string]simulator.Press{
		"no such card": {User: "nobody"}, "no such variable": {User: "li.na", Key: "other"}, "no such provider": {Provider: "feishu", User: "li.na"},
	} {
		if p.Provider == "" {
			p.Provider = "dingtalk_card"
		}
		if err := sim.Press(p); err == nil {
			t.Errorf("%s is pressed", name)
		}
	}
}

// posted posts JSON with a token, and reads the answer into a pointer.
func posted(t *testing.T, to, token, body string, into any) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Acs-Dingtalk-Access-Token", token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if into != nil {
		if err := json.NewDecoder(res.Body).Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	return res.StatusCode
}

// token is the application's at the simulator.
func token(t *testing.T, root string) string {
	t.Helper()
	var said struct {
		Token string `json:"accessToken"`
	}
	posted(t, root+"/v1.0/oauth2/accessToken", "", `{"appKey":"dingkey","appSecret":"s"}`, &said)
	return said.Token
}
