package httpapi

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
	"github.com/posthouse/posthouse/internal/render"
)

// CodeTokenLife is our own code of an answer whose token lasts no time at all.
const CodeTokenLife = "TOKEN_LIFE"

// What the number at token_lasts_path counts.
const (
	inSeconds      = "seconds"
	inMilliseconds = "milliseconds"
	untilSeconds   = "until_seconds" // since 1970
	untilMillis    = "until_milliseconds"
)

// Lives of tokens. usualLife is what Feishu, WeChat and Honor give, longestLife bounds a number in another unit than was meant.
const (
	usualLife   = 2 * time.Hour
	longestLife = 30 * 24 * time.Hour
)

func tokenFields() []channel.Field {
	return []channel.Field{{
		Name: "token_url", Kind: channel.KindURL, Label: "Token: URL", LabelZH: "令牌：接口地址",
		Help:   "Where an access token is got before the first call. It then stands in ${token}, and all processes share it. A code of the class auth has a new one fetched.",
		HelpZH: "首次调用前从这里获取访问令牌，之后用 ${token} 引用，所有进程共用。错误码归为 auth 时会重新获取。",
	}, {
		Name: "token_method", Kind: channel.KindChoice, Label: "Token: method", LabelZH: "令牌：请求方法",
		Default: http.MethodPost, Choices: methods(http.MethodPost, http.MethodGet),
	}, {
		Name: "token_headers", Kind: channel.KindMap, Label: "Token: headers", LabelZH: "令牌：请求头",
		Help: "Shown to whoever may read the channel: name secrets as ${secret.<name>}.", HelpZH: "可查看渠道的人都能看到：密钥请写成 ${secret.<名称>}。",
	}, {
		Name: "token_encoding", Kind: channel.KindChoice, Label: "Token: encoding of the body", LabelZH: "令牌：请求体编码",
		Default: "json", Choices: []channel.Choice{
			{Value: "json", Label: "JSON", LabelZH: "JSON"},
			{Value: "form", Label: "Form (URL-encoded)", LabelZH: "表单（URL 编码）"},
			{Value: "text", Label: "Plain text", LabelZH: "纯文本"},
		},
	}, {
		Name: "token_body", Kind: channel.KindText, Label: "Token: body", LabelZH: "令牌：请求体",
		Help: "May name secrets, values, ${now}, ${now_ms} and ${uuid}, and functions of them.", HelpZH: "可使用密钥、参数值、${now}、${now_ms}、${uuid} 以及函数。",
	}, {
		Name: "token_path", Kind: channel.KindString, Label: "Token: where", LabelZH: "令牌的位置",
		Help: "A JSON path such as $.access_token, or a regular expression.", HelpZH: "JSON 路径，例如 $.access_token；或正则表达式。",
	}, {
		Name: "token_lasts_path", Kind: channel.KindString, Label: "Token: where its life stands", LabelZH: "令牌有效期的位置",
		Help: "Without it the token is used as long as its life below says.", HelpZH: "留空则按下面的“令牌有效期”。",
	}, {
		Name: "token_lasts_in", Kind: channel.KindChoice, Label: "Token: its life counts", LabelZH: "令牌有效期的单位",
		Default: inSeconds, Choices: []channel.Choice{
			{Value: inSeconds, Label: "Seconds from now", LabelZH: "从现在起的秒数"},
			{Value: inMilliseconds, Label: "Milliseconds from now", LabelZH: "从现在起的毫秒数"},
			{Value: untilSeconds, Label: "A moment, as seconds since 1970", LabelZH: "到期时刻（Unix 秒）"},
			{Value: untilMillis, Label: "A moment, as milliseconds since 1970", LabelZH: "到期时刻（Unix 毫秒）"},
		},
	}, {
		Name: "token_lasts", Kind: channel.KindDuration, Label: "Token: its life", LabelZH: "令牌有效期", Default: usualLife,
		Help: "Where the answer does not say it.", HelpZH: "响应中没有有效期时使用。",
	}, {
		Name: "token_code_path", Kind: channel.KindString, Label: "Token: error code", LabelZH: "令牌：错误码的位置",
		Help: "Defaults to where an answer's error code stands.", HelpZH: "默认与“错误码的位置”相同。",
	}, {
		Name: "token_message_path", Kind: channel.KindString, Label: "Token: error message", LabelZH: "令牌：错误信息的位置",
		Help: "Defaults to where an answer's error message stands.", HelpZH: "默认与“错误信息的位置”相同。",
	}, {
		Name: "token_codes", Kind: channel.KindMap, Label: "Token: meaning of codes", LabelZH: "令牌：错误码含义",
		Help: "Written as the meaning of codes; one that stands in neither may be tried again.", HelpZH: "写法与“错误码含义”相同；两处都没有的错误码会重试。",
	}}
}

// tokenPlan is how a token is got.
type tokenPlan struct {
	method                     string
	url, body                  template
	headers                    map[string]template
	token, lasts, code, saying picker
	unit                       string
	life                       time.Duration
	table                      table
}

// newToken reads the fields of the token, nil where the channel needs none.
func (p *plan) newToken(c channel.Config) *tokenPlan {
	if !c.Has("token_url") {
		for _, f := range tokenFields() {
			if f.Default == nil && c.Has(f.Name) {
				p.problem(f.Name, "has no effect without token_url")
			}
		}
		return nil
	}
	t := &tokenPlan{method: c.String("token_method"), headers: map[string]template{}, unit: c.String("token_lasts_in"), life: c.Duration("token_lasts")}
	syn := p.syntax
	syn.token = false
	t.url = p.template("token_url", c.String("token_url"), syn.at(render.URLPath))
	t.body = p.template("token_body", c.String("token_body"), syn.at(placeOf[c.String("token_encoding")]))
	if t.method == http.MethodGet && c.Has("token_body") {
		p.problem("token_body", "a GET request has no body; put the values in token_url or choose another method")
	}
	if c.Has("token_body") {
		t.headers["Content-Type"] = p.template("token_encoding", contentTypes[c.String("token_encoding")], syn.at(render.Plain))
	}
	for name, value := range c.Map("token_headers") {
		if !channel.ValidHeader(name, value) {
			p.problem("token_headers."+name, "this cannot be sent as a header: a name is one word of letters, digits and dashes, a value is one line")
		}
		t.headers[http.CanonicalHeaderKey(name)] = p.template("token_headers."+name, value, syn.at(render.Plain))
	}
	for _, text := range append(slices.Collect(maps.Values(t.headers)), t.url, t.body) {
		for _, leaf := range text.leaves() {
			if leaf.variable.number == nil && leaf.name != "uuid" || leaf.variable.each {
				if p.reported(text.where) {
					continue
				}
				p.problem(text.where, "${"+leaf.name+"} belongs to a message, and a token is got for all of them: only secrets, values, now, now_ms and uuid may stand here")
			}
		}
	}
	if !c.Has("token_path") {
		p.problem("token_path", "is missing: say where in the answer the token stands, such as $.access_token")
	}
	t.pickers(p, c)
	t.table = newTable(c.Map("token_codes"), func(line, message string) { p.problem("token_codes."+line, message) })
	return t
}

func (t *tokenPlan) pickers(p *plan, c channel.Config) {
	t.code, t.saying = p.code, p.message
	for field, to := range map[string]*picker{"token_path": &t.token, "token_lasts_path": &t.lasts, "token_code_path": &t.code, "token_message_path": &t.saying} {
		if !c.Has(field) {
			continue
		}
		var err error
		if *to, err = parsePicker(c.String(field)); err != nil {
			p.problem(field, err.Error())
		}
	}
}

// request is the call for a token.
func (t *tokenPlan) request(s *scope) (channel.Request, error) {
	r := channel.Request{Method: t.method, Header: http.Header{}}
	text, err := t.url.render(s)
	if err != nil {
		return r, err
	}
	if r.URL, err = url.Parse(string(text)); err != nil {
		return r, fmt.Errorf("the channel's token_url cannot be read once its placeholders are filled")
	}
	for name, h := range t.headers {
		value, err := h.render(s)
		if err != nil {
			return r, err
		}
		r.Header[name] = []string{string(value)}
	}
	r.Body, err = t.body.render(s)
	return r, err
}

// read finds the token in an answer. Without one, the error is an *access.Failed.
func (p *plan) readToken(r *channel.Reply, now time.Time) (token string, lasts time.Duration, err error) {
	t, a := p.token, newAnswer(r)
	if token, _ = t.token.text(a); token == "" || !r.OK() {
		return access.Fetched(r, p.tokenVerdict(r, a), "", 0)
	}
	lasts = t.life
	if t.lasts.isPath || t.lasts.pattern != nil {
		if lasts, err = t.lifeOf(a, now); err != nil {
			return access.Fetched(r, channel.Verdict{Class: posthouse.ClassTransient, Code: CodeTokenLife, Message: err.Error()}, "", 0)
		}
	}
	return access.Fetched(r, channel.Verdict{Class: posthouse.ClassOK}, token, lasts)
}

// tokenVerdict is what an answer without a token means.
func (p *plan) tokenVerdict(r *channel.Reply, a answer) (v channel.Verdict) {
	t := p.token
	if r.Status == 0 {
		return p.ended(r, a, v)
	}
	v.Message, _ = t.saying.text(a)
	code, _ := t.code.text(a)
	for _, one := range []*table{&t.table, &p.table} {
		if m, ok := one.of(a, code, v.Message); ok && m.class != posthouse.ClassOK {
			v.Code = code
			return classed(v, m)
		}
		if m, ok := one.ofStatus(r, a, v.Message); ok {
			return classed(v, m)
		}
	}
	if !r.OK() {
		return p.ended(r, a, v)
	}
	if v.Code, v.Class = code, posthouse.ClassTransient; v.Message == "" {
		v.Message = "the answer has no token where token_path says"
	}
	return v
}

// lifeOf reads how long a token lasts.
func (t *tokenPlan) lifeOf(a answer, now time.Time) (time.Duration, error) {
	text, _ := t.lasts.text(a)
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return 0, fmt.Errorf("the answer says %.40q where token_lasts_path leads, which is no number", text)
	}
	switch t.unit {
	case untilSeconds:
		n -= float64(now.UnixMilli()) / 1000
	case untilMillis:
		n = (n - float64(now.UnixMilli())) / 1000
	case inMilliseconds:
		n /= 1000
	}
	if n < 1 {
		return 0, fmt.Errorf("the answer gives a token that is over at once, %.0fs from now: look at token_lasts_in and at this server's clock", n)
	}
	return time.Duration(min(n, longestLife.Seconds()) * float64(time.Second)), nil
}

// newAccess shares the token of the channel, or of one of its accounts.
func (d *driver) newAccess(c channel.Config, env channel.Env) *access.Access {
	by := []string{c.String("token_url"), c.String("token_body")}
	for _, m := range []map[string]string{c.Map("token_headers"), c.Map("secrets"), c.Map("values")} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			by = append(by, name, m[name])
		}
	}
	name := strings.Join([]string{"httpapi", env.Tenant, env.Channel, env.Account}, "/")
	return access.New(env, name, "httpapi "+c.String("token_url"), by, func(ctx context.Context) (string, time.Duration, error) {
		now := time.Now()
		request, err := d.token.request(&scope{outs: make([]channel.Outgoing, 1), now: now})
		if err != nil {
			return "", 0, &access.Failed{Result: channel.Result{Class: posthouse.ClassAccount, Code: channel.CodeRequest, Error: d.client.Redactor().Line(err.Error(), 512)}}
		}
		reply := d.client.Do(ctx, request)
		return d.readToken(&reply, now)
	})
}

// refusedToken reports whether an answer refuses the token, for all of a call.
func refusedToken(results []channel.Result) bool {
	return !slices.ContainsFunc(results, func(r channel.Result) bool { return r.Class != posthouse.ClassAuth })
}
