package simulator

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
)

// The rules of interactive cards: what a card's id, and a variable's name and text, may be in bytes.
const (
	cardTrackBytes = 100
	cardNameBytes  = 100
	cardValueBytes = 1 << 10
)

// cardCodes are DingTalk's codes, by its page of createAndDeliver.
var cardCodes = map[Code]string{
	UnknownUser: "param.userIdNotExist", RefusedContent: "param.contentUnsafe", Malformed: "param.invalid",
	TooFast: "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi", Busy: "system.busy", Unauthorized: "InvalidAuthentication",
}

// cardAck is the variable that the button of a card tells back where nothing else is asked for.
const cardAck = "ack_key"

// dingtalkCardCall is a call, and what is kept of it.
type dingtalkCardCall struct {
	Template string `json:"cardTemplateId"`
	Track    string `json:"outTrackId"`
	Callback string `json:"callbackType"`
	RouteKey string `json:"callbackRouteKey"`
	Data     struct {
		Params map[string]string `json:"cardParamMap"`
	} `json:"cardData"`
	To    string `json:"openSpaceId"`
	Space *struct {
		Last map[string]string `json:"lastMessageI18n"`
	} `json:"imRobotOpenSpaceModel"`
	Deliver *struct {
		Space string `json:"spaceType"`
	} `json:"imRobotOpenDeliverModel"`
}

// interactives are DingTalk's interactive cards in the conversations with applications' robots.
type interactives struct {
	tokens *tokens // those of the work notifications: of the same applications
	back   *caller

	mu       sync.Mutex
	routeKey string // under which the callback address was registered
}

func dingtalkCard(notices *notices, back *caller) provider {
	s := &interactives{tokens: &notices.tokens, back: back}
	return provider{
		name: "dingtalk_card", title: "DingTalk interactive card", titleZH: "钉钉互动卡片",
		path: "/dingtalk_card/v1.0/card/instances/createAndDeliver", prefix: "dc",
		read: s.read, status: cardStatus, answer: answerCard,
		more: &more{settle: func([]*refusal) {}, forget: func() {}, back: back, paths: map[string]http.HandlerFunc{
			"POST /dingtalk_card/v1.0/oauth2/accessToken":      notices.giveNewToken,
			"POST /dingtalk_card/v1.0/card/callbacks/register": s.register,
		}},
	}
}

// cardStatus is an HTTP status of DingTalk's newer interface.
func cardStatus(code Code) int {
	switch code {
	case "":
		return http.StatusOK
	case TooFast:
		return http.StatusForbidden
	case Busy:
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

func (s *interactives) read(r *http.Request, body []byte) (order, *refusal) {
	if !s.tokens.has(r.Header.Get("X-Acs-Dingtalk-Access-Token")) {
		return order{}, &refusal{code: Unauthorized, text: "不合法的access_token"}
	}
	var in dingtalkCardCall
	if err := json.Unmarshal(body, &in); err != nil {
		return order{}, malformed("the body is not the JSON this interface reads: %v", err)
	}
	user, one := strings.CutPrefix(in.To, "dtv1.card//IM_ROBOT.")
	switch {
	case in.Track == "":
		return order{}, strange("param.outTrackIdEmpty", "param.outTrackIdEmpty")
	case len(in.Track) > cardTrackBytes:
		return order{}, malformed("outTrackId has %d bytes, at most %d are allowed", len(in.Track), cardTrackBytes)
	case in.Template == "":
		return order{}, strange("param.cardTemplateIdEmpty", "param.cardTemplateIdEmpty")
	case len(in.Data.Params) == 0:
		return order{}, strange("param.cardPublicDataEmpty", "param.cardPublicDataEmpty")
	case in.To == "":
		return order{}, strange("param.openSpaceIdEmpty", "param.openSpaceIdEmpty")
	case !one || user == "" || strings.Contains(user, ";"):
		return order{}, strange("param.openSpaceIdInvalid", "the simulator takes the conversation with a robot alone: dtv1.card//IM_ROBOT.USERID")
	case in.Space == nil:
		return order{}, malformed("spaces of card is empty")
	case in.Deliver == nil || in.Deliver.Space != "IM_ROBOT":
		return order{}, strange("param.openDeliverModelEmpty", "param.openDeliverModelEmpty")
	case in.Callback != "" && in.Callback != "HTTP" && in.Callback != "STREAM":
		return order{}, malformed("callbackType is %q", in.Callback)
	}
	for name, text := range in.Data.Params {
		if len(name) > cardNameBytes || len(text) > cardValueBytes {
			return order{}, malformed("the variable %.40q is longer than %d bytes, or its text than %d", name, cardNameBytes, cardValueBytes)
		}
	}
	key := cmp.Or(keysOf(r, 1)[0], in.Track)
	return order{messages: []message{{user: user, title: in.Space.Last["ZH_CN"], text: string(body), key: key}}}, nil
}

func answerCard(results []result) reply {
	if ref := results[0].refusal; ref != nil {
		return inJSON(jsonLine(map[string]string{"code": ownCode(ref, cardCodes), "message": ref.text, "requestid": "1"}))
	}
	return inJSON(jsonLine(map[string]any{"success": true, "result": map[string]any{
		"outTrackId": results[0].id, "deliverResults": []any{map[string]any{"spaceType": "IM_ROBOT", "spaceId": results[0].user, "success": true, "carrierId": results[0].id}},
	}}))
}

// register keeps the address that is told what is pressed. One that is there already is replaced by force alone.
func (s *interactives) register(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Secret string `json:"apiSecret"`
		URL    string `json:"callbackUrl"`
		Key    string `json:"callbackRouteKey"`
		Force  bool   `json:"forceUpdate"`
	}
	refuse := func(status int, code string) {
		inJSON(jsonLine(map[string]string{"code": code, "message": code, "requestid": "1"})).send(w, status)
	}
	body, err := readBody(w, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		writeError(w, err)
	case !s.tokens.has(r.Header.Get("X-Acs-Dingtalk-Access-Token")):
		refuse(http.StatusBadRequest, "InvalidAuthentication")
	case json.Unmarshal(body, &in) != nil:
		refuse(http.StatusBadRequest, "param.empty")
	case in.Key == "":
		refuse(http.StatusBadRequest, "param.callbackRouteKeyEmpty")
	case in.URL == "":
		refuse(http.StatusBadRequest, "param.callbackUrlEmpty")
	case s.routeKey == in.Key && !in.Force:
		refuse(http.StatusInternalServerError, "param.callbackRouteKeyExist")
	default:
		_ = s.back.set(r.Context(), Callback{URL: in.URL, Token: in.Secret}) // it does not look at the address
		s.routeKey = in.Key
		inJSON(jsonLine(map[string]any{"success": true, "result": map[string]string{"callbackUrl": in.URL, "apiSecret": in.Secret}})).send(w, http.StatusOK)
	}
}

// postDingTalk posts an event with the time's signature, where there is a secret to sign with.
func (t *Callback) postDingTalk(ctx context.Context, event string) error {
	header := http.Header{"Content-Type": {"application/json"}}
	if t.Token != "" {
		stamp := strconv.FormatInt(time.Now().UnixMilli(), 10)
		mac := hmac.New(sha256.New, []byte(t.Token))
		mac.Write([]byte(stamp))
		header.Set("X-Ddpaas-Signature-Timestamp", stamp)
		header.Set("X-Ddpaas-Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	_, err := t.send(ctx, http.MethodPost, t.URL, event, header)
	return err
}

// pressInteractive has a person press the button of an interactive card: it tells back the variable that Key names.
func (s *Simulator) pressInteractive(f *fake, p *Press) error {
	name := cmp.Or(p.Key, cardAck)
	for _, a := range slices.Backward(s.Arrivals(Filter{Provider: f.name, User: p.User, Limit: maxListed})) {
		var c dingtalkCardCall
		if !a.taken() || json.Unmarshal([]byte(a.Text), &c) != nil || p.TaskID != "" && p.TaskID != c.Track {
			continue
		}
		value, has := c.Data.Params[name]
		switch {
		case !has:
			return posthouse.Errorf(posthouse.CodeInvalid, "key is %q: the card has no such variable", name)
		case c.Callback != "HTTP":
			return posthouse.Errorf(posthouse.CodeConflict, "the card is told by no callback: its callbackType is %q", c.Callback)
		}
		content := jsonLine(map[string]any{"cardPrivateData": map[string]any{"actionIds": []string{name}, "params": map[string]string{name: value}}})
		told := jsonLine(map[string]string{"type": "actionCallback", "outTrackId": c.Track, "corpId": "ding1", "userId": p.User, "content": content})
		for range p.Times {
			f.more.back.tell(told)
		}
		return nil
	}
	return posthouse.Errorf(posthouse.CodeNotFound, "%q has no card with the outTrackId %q, of those that are kept", p.User, p.TaskID)
}
