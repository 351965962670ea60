package simulator

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/posthouse/posthouse/internal/render"
)

// gatewayTitle is the longest title our fake gateway takes, as Java counts.
const gatewayTitle = 20

// gatewayCodes are the codes of our fake gateway, which says everything inside a 200.
var gatewayCodes = map[Code]string{
	UnknownUser: "404", RefusedContent: "422", Malformed: "400", TooFast: "429", Busy: "503",
}

// gatewayCall is a call. Parameters must be texts.
type gatewayCall struct {
	Title    string            `json:"title"`
	Template string            `json:"template_id"`
	Params   map[string]string `json:"template_params"`
	Users    list              `json:"userid_list"`
	Agent    string            `json:"agent_id"`
	Corp     string            `json:"corp_id"`
}

// dingtalkGateway is an enterprise's gateway in front of DingTalk: it takes a call whole or not at all.
func dingtalkGateway() provider {
	return provider{
		name: "dingtalk", title: "DingTalk gateway", titleZH: "钉钉网关", path: "/dingtalk/send", prefix: "dt",
		read: readGateway, status: always200, answer: answerGateway,
		more: &more{settle: wholly, forget: func() {}},
	}
}

func readGateway(r *http.Request, body []byte) (order, *refusal) {
	var in gatewayCall
	if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("the body is not the JSON this interface reads: %v", err)
	}
	n := len(in.Users)
	switch {
	case in.Agent == "" || in.Corp == "":
		return order{}, malformed("agent_id or corp_id is missing")
	case n == 0:
		return order{}, malformed("userid_list is missing")
	case len(slices.Compact(slices.Sorted(slices.Values(in.Users)))) < n:
		return order{}, malformed("userid_list names a user twice")
	}
	ord := order{together: true, messages: make([]message, n)}
	for i, key := range keysOf(r, n) {
		ord.messages[i] = message{user: in.Users[i], title: in.Title, text: in.text(), key: key}
	}
	if length := render.Length(in.Title).In(render.UTF16); length > gatewayTitle {
		ord.refusals = allRefused(n, RefusedContent, "400", "the title has %d characters, at most %d are allowed", length, gatewayTitle)
	}
	return ord, nil
}

// text is what the gateway would fill its template with.
func (c gatewayCall) text() string {
	if content, ok := c.Params["content"]; ok && c.Template == "" {
		return content
	}
	return "[" + c.Template + "] " + jsonLine(c.Params)
}

func answerGateway(results []result) reply {
	ref := results[0].refusal
	if ref == nil {
		return inJSON(`{"success":true,"code":200,"msg":"ok","data":{"msgid":"` + results[0].id + `"}}`)
	}
	return inJSON(`{"success":false,"code":` + ownCode(ref, gatewayCodes) + `,"msg":` + quote(ref.text) + `}`)
}
