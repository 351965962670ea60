package dingtalk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/batch"
	"github.com/posthouse/posthouse/channel/internal/errcode"
	"github.com/posthouse/posthouse/internal/render"
)

// gatewayBatch is the most recipients in one call to a gateway; it sets no limit that we know of.
const gatewayBatch = 1000

// gatewayCodes are those a gateway answers in its body. Only 200 is documented; the others are read as
// HTTP reads them, and a channel says otherwise with its codes. A gateway knows no repeated call: where it
// failed itself, or waited for DingTalk in vain, it may have told everybody.
var gatewayCodes = codes{
	"200": {Class: posthouse.ClassOK},
	"400": {Class: posthouse.ClassRequest},
	"401": {Class: posthouse.ClassAuth},
	"403": {Class: posthouse.ClassAccount},
	"404": {Class: posthouse.ClassRecipient},
	"409": {Class: posthouse.ClassUnknown}, // often says that an earlier try arrived
	"413": {Class: posthouse.ClassContent},
	"422": {Class: posthouse.ClassContent},
	"429": {Class: posthouse.ClassRate},
	"500": {Class: posthouse.ClassUnknown},
	"502": {Class: posthouse.ClassUnknown},
	"503": {Class: posthouse.ClassTransient},
	"504": {Class: posthouse.ClassUnknown},
}

// Gateway describes the driver for an enterprise's own gateway in front of DingTalk.
func Gateway() channel.Type {
	return channel.Type{
		Name:  "dingtalk",
		Title: "DingTalk gateway", TitleZH: "钉钉网关",
		Doc:          "Posts each message with the id of its template and its parameters to an enterprise's own gateway in front of DingTalk, once for all recipients.",
		DocZH:        "通过企业自建的钉钉消息网关发送：每条消息携带模板编号和参数，所有收件人合并为一次调用。",
		Fields:       gatewayFields(),
		MaxBatch:     gatewayBatch,
		OwnAddresses: true,
		Addresses:    channel.AddressUser,
		Timeout:      10 * time.Second,
		Check:        checkGateway,
		Open:         openGateway,
	}
}

func gatewayFields() []channel.Field {
	return []channel.Field{{
		Name: "baseUrl", Kind: channel.KindURL, Required: true, Label: "URL", LabelZH: "发送地址",
		Help:   "The whole address that is posted to.",
		HelpZH: "完整的发送地址。",
	}, {
		Name: "agentId", Kind: channel.KindString, Required: true, Label: "agent_id", LabelZH: "agent_id",
		Help: "The application's id at the gateway.", HelpZH: "应用在网关上的编号。",
	}, {
		Name: "corpId", Kind: channel.KindString, Required: true, Label: "corp_id", LabelZH: "corp_id",
		Help: "The enterprise's id at the gateway.", HelpZH: "企业在网关上的编号。",
	}, {
		Name: "headers", Kind: channel.KindSecrets, Label: "More headers", LabelZH: "附加请求头",
		Help: "Stored encrypted and never shown again.", HelpZH: "加密保存，不再显示。",
	}, {
		Name: "titleLength", Kind: channel.KindInt, Default: 20, Min: 1, Max: 1000, Label: "Longest title", LabelZH: "标题最大长度",
		Help:   "A longer title is cut, never within a character, and a warning is logged.",
		HelpZH: "超出的标题会被截断（不会截断半个字符），并记录警告日志。",
	}, {
		Name: "titleUnit", Kind: channel.KindChoice, Default: "utf16", Choices: []channel.Choice{
			{Value: "utf16", Label: "UTF-16 units, as Java counts", LabelZH: "UTF-16 单元（与 Java 相同）"},
			{Value: "characters", Label: "Unicode code points", LabelZH: "Unicode 码点"},
			{Value: "graphemes", Label: "What a reader takes for one character", LabelZH: "读者眼中的一个字符"},
		}, Label: "The title's length counts", LabelZH: "标题长度单位",
		Help:   "An emoji is two UTF-16 units.",
		HelpZH: "按 UTF-16 单元计时，一个表情计 2。",
	}, {
		Name: "userList", Kind: channel.KindChoice, Default: "array", Choices: []channel.Choice{
			{Value: "array", Label: "A JSON array", LabelZH: "JSON 数组"},
			{Value: "text", Label: "One text with commas", LabelZH: "以逗号分隔的文本"},
		}, Label: "userid_list is", LabelZH: "userid_list 的格式",
	}}
}

func checkGateway(c channel.Config) []posthouse.Problem {
	var problems []posthouse.Problem
	for _, name := range slices.Sorted(maps.Keys(c.Map("headers"))) {
		if !channel.ValidHeader(name, c.Map("headers")[name]) {
			problems = append(problems, posthouse.Problem{
				Path: "headers." + name, Message: "this cannot be sent as a header: a name is one word of letters, digits and dashes, a value is one line",
			})
		}
	}
	return problems
}

type gateway struct {
	client      *channel.Client
	url         *url.URL
	header      http.Header
	agent, corp string
	longest     int
	unit        render.Unit
	asText      bool
	codes       map[string]posthouse.Class
	log         *slog.Logger
}

func openGateway(c channel.Config, env channel.Env) (channel.Driver, error) {
	target, err := url.Parse(c.String("baseUrl"))
	if err != nil {
		return nil, err
	}
	g := &gateway{
		url: target, header: http.Header{"Content-Type": {"application/json"}},
		agent: c.String("agentId"), corp: c.String("corpId"),
		longest: c.Int("titleLength"), asText: c.String("userList") == "text",
		unit:  map[string]render.Unit{"utf16": render.UTF16, "characters": render.Characters, "graphemes": render.Graphemes}[c.String("titleUnit")],
		codes: env.Codes, log: cmp.Or(env.Log, slog.Default()),
	}
	var secrets []string
	for name, v := range c.Map("headers") {
		g.header.Set(name, v)
		secrets = append(secrets, v)
	}
	g.client = channel.NewClient(env, channel.ClientOptions{Secrets: secrets})
	return g, nil
}

// Close closes the idle connections.
func (g *gateway) Close() error { return g.client.Close() }

// Send makes one call for one delivery.
func (g *gateway) Send(ctx context.Context, out channel.Outgoing) channel.Result {
	return g.SendBatch(ctx, []channel.Outgoing{out})[0]
}

// SendBatch makes one call for all.
func (g *gateway) SendBatch(ctx context.Context, outs []channel.Outgoing) []channel.Result {
	call, err := g.message(outs[0])
	if err != nil {
		return slices.Repeat([]channel.Result{{
			Class: posthouse.ClassContent, Code: channel.CodeRequest, Error: g.client.Redactor().Line(err.Error(), 512),
		}}, len(outs))
	}
	return batch.Halving(outs, noAddress(), func(to []channel.Outgoing) channel.Result {
		reply := g.client.Do(ctx, channel.Request{URL: g.url, Header: batch.WithKeys(g.header, to), Body: call.body(batch.Addresses(to), g.asText)})
		return reply.Result(g.verdict(&reply))
	})
}

// gatewayCall is the body of a call.
type gatewayCall struct {
	Title    string            `json:"title"`
	Template string            `json:"template_id"`
	Params   map[string]string `json:"template_params"`
	Users    any               `json:"userid_list"` // a list, or a text with commas
	Agent    string            `json:"agent_id"`
	Corp     string            `json:"corp_id"`
}

func (c gatewayCall) body(users []string, asText bool) []byte {
	c.Users = users
	if asText {
		c.Users = strings.Join(users, ",")
	}
	return errcode.Encoded(c)
}

// message is what a call says, without its recipients. A message without a template of the gateway's
// carries its text as the parameter "content": it has no other place.
func (g *gateway) message(out channel.Outgoing) (gatewayCall, error) {
	params, err := texts(out.Payload)
	if err != nil {
		return gatewayCall{}, err
	}
	if _, taken := params["content"]; out.TemplateID == "" && !taken && out.Content.Text != "" {
		params["content"] = out.Content.Text
	}
	return gatewayCall{Title: g.title(out), Template: out.TemplateID, Params: params, Agent: g.agent, Corp: g.corp}, nil
}

// title cuts a title that the gateway would refuse, with all of its recipients. The log gets its length
// only: a message may be sensitive.
func (g *gateway) title(out channel.Outgoing) string {
	title := render.Cut(out.Content.Title, g.longest, g.unit)
	if title != out.Content.Title {
		g.log.Warn("the title is too long for the gateway and was cut", "message", out.Message,
			"length", render.Length(out.Content.Title).In(g.unit), "allowed", g.longest)
	}
	return title
}

var errPayload = errors.New("the payload is not a JSON object, so it has no parameters")

// texts are the members of a payload, all of them as strings: a number as it is written, a list or an
// object as JSON, null as an empty one.
func texts(payload json.RawMessage) (map[string]string, error) {
	params := map[string]string{}
	if len(payload) == 0 {
		return params, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(payload, &members); err != nil {
		return nil, errPayload
	}
	for name, raw := range members {
		var v errcode.Value
		if err := v.UnmarshalJSON(raw); err != nil {
			return nil, errPayload
		}
		params[name] = string(v)
		if raw[0] == '{' || raw[0] == '[' {
			var b bytes.Buffer
			_ = json.Compact(&b, raw) // it was decoded
			params[name] = b.String()
		}
	}
	return params, nil
}

// gatewayAnswer is what a gateway answers. Success and code decide; with an error, and where there is
// nothing to say, some gateways write an empty list or a text for data, which changes neither.
type gatewayAnswer struct {
	Success errcode.Value   `json:"success"`
	Code    errcode.Value   `json:"code"`
	Message errcode.Value   `json:"msg"`
	Data    json.RawMessage `json:"data"`
}

// ref is the gateway's id of the message, empty for an answer without one.
func (a *gatewayAnswer) ref() string {
	var data struct {
		ID errcode.Value `json:"msgid"`
	}
	if json.Unmarshal(a.Data, &data) != nil {
		return ""
	}
	return string(data.ID)
}

// verdict reads an answer: a success is true, and its code is 200 or missing. No success is a failure,
// also beside the code 200. An error that a table knows counts also beside a success; a code that none
// knows contradicts it, and such an answer is not believed either way.
func (g *gateway) verdict(r *channel.Reply) channel.Verdict {
	if !r.OK() {
		return errcode.Ended(r, g.codes)
	}
	var a gatewayAnswer
	if err := json.Unmarshal(r.Body, &a); err != nil || a.Success == "" {
		return channel.Verdict{Class: posthouse.ClassUnknown, Message: "the gateway's answer could not be read, so it may have accepted"}
	}
	v := channel.Verdict{Code: string(a.Code), Message: string(a.Message), Ref: a.ref()}
	m, known := gatewayCodes.of(v.Code, g.codes), g.knows(v.Code)
	switch {
	case a.Success == "true" && (v.Code == "" || m.Class == posthouse.ClassOK):
		v.Class = posthouse.ClassOK
	case a.Success == "false" && m.Class == posthouse.ClassOK:
		v.Class = posthouse.ClassTransient
	case a.Success == "true" && !known, m.Class == posthouse.ClassOK:
		v.Class = posthouse.ClassUnknown
		v.Message = "the gateway contradicts itself: success " + string(a.Success) + " with code " + v.Code + ": " + v.Message
	default:
		v.Class, v.After = m.Class, m.After
	}
	if v.Message == "" && v.Class != posthouse.ClassOK {
		v.Message = "the gateway answered with code " + v.Code
	}
	return v
}

// knows reports whether a code stands in a table.
func (g *gateway) knows(code string) bool {
	_, ours := gatewayCodes[code]
	_, theirs := g.codes[code]
	return ours || theirs
}
