package dingtalk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/channel/internal/access"
	"github.com/posthouse/posthouse/channel/internal/batch"
	"github.com/posthouse/posthouse/channel/internal/errcode"
)

// The bounds of a card's variables, in bytes, by the page of createAndDeliver.
const (
	cardNameBytes  = 100
	cardValueBytes = 1 << 10
)

// codeNotDelivered is our own code of a card that DingTalk made and did not deliver: it gives a text for that, and no code.
const codeNotDelivered = "NOT_DELIVERED"

// cardCodes are those of the page of createAndDeliver and of the global list. Where DingTalk says that its system is busy, or that there is
// the card already, an attempt may have delivered it.
var cardCodes = errcode.Table{
	"system.busy":            {Class: posthouse.ClassUnknown},
	"param.cardAlreadyExist": {Class: posthouse.ClassUnknown},

	"Forbidden.AccessDenied.QpsLimitForApi":          {Class: posthouse.ClassRate, After: time.Second},
	"Forbidden.AccessDenied.QpsLimitForAppkeyAndApi": {Class: posthouse.ClassRate, After: time.Second},
	"Forbidden.AccessDenied.QpmLimitForAppkeyAndApi": {Class: posthouse.ClassRate, After: time.Minute},
	codeBlocked: {Class: posthouse.ClassRate, After: blockedFor},

	"InvalidAuthentication": {Class: posthouse.ClassAuth},

	"Forbidden.IpNotInWhiteList":                         {Class: posthouse.ClassAccount},
	"Forbidden.AccessDenied.IpNotInWhiteList":            {Class: posthouse.ClassAccount},
	"Forbidden.AccessDenied.AccessTokenPermissionDenied": {Class: posthouse.ClassAccount},
	"Forbidden.AccessDenied.ApiCountLimitForOrg":         {Class: posthouse.ClassAccount}, // the month's calls are used up

	"param.userIdNotExist": {Class: posthouse.ClassRecipient},
	codeNotDelivered:       {Class: posthouse.ClassRecipient},

	"param.contentUnsafe":       {Class: posthouse.ClassContent},
	"param.cardPublicDataEmpty": {Class: posthouse.ClassContent},
	"param.cardTemplateIdEmpty": {Class: posthouse.ClassContent},
	"param.templateNotExist":    {Class: posthouse.ClassContent},
	"param.templateUnpublished": {Class: posthouse.ClassContent},

	"param.empty":                 {Class: posthouse.ClassRequest},
	"param.invalid":               {Class: posthouse.ClassRequest},
	"param.openDeliverModelEmpty": {Class: posthouse.ClassRequest},
	"param.openDeliverModelError": {Class: posthouse.ClassRequest},
	"param.openSpaceIdEmpty":      {Class: posthouse.ClassRequest},
	"param.openSpaceIdInvalid":    {Class: posthouse.ClassRequest},
	"param.openSpaceModelInvalid": {Class: posthouse.ClassRequest},
	"param.outTrackIdEmpty":       {Class: posthouse.ClassRequest},
	"param.userIdEmpty":           {Class: posthouse.ClassRequest},
}

// card is what a content of type template says, by DingTalk's names: its template and the variables of it.
type card struct {
	Template string          `json:"cardTemplateId"`
	Data     cardFill        `json:"cardData"`
	Private  json.RawMessage `json:"privateData,omitempty"`
	Space    json.RawMessage `json:"imRobotOpenSpaceModel,omitempty"`
}

type cardFill struct {
	Params map[string]string `json:"cardParamMap"`
}

// cardCall is the body of a call.
type cardCall struct {
	card
	Track    string      `json:"outTrackId"`
	Callback string      `json:"callbackType,omitempty"`
	RouteKey string      `json:"callbackRouteKey,omitempty"`
	Deliver  cardDeliver `json:"imRobotOpenDeliverModel"`
	To       string      `json:"openSpaceId"`
	IDType   int         `json:"userIdType"`
}

type cardDeliver struct {
	Space string `json:"spaceType"`
	Robot string `json:"robotCode"`
}

// cardMembers are the members of a card that are a content's to say.
func cardMembers() []string {
	return []string{"cardTemplateId", "cardData", "privateData", "imRobotOpenSpaceModel"}
}

// cardOf reads a card. The problems say what is none.
func cardOf(extra json.RawMessage) (c card, problems []posthouse.Problem) {
	refuse := func(path, format string, args ...any) {
		problems = append(problems, posthouse.Problem{Path: "content.extra" + path, Message: fmt.Sprintf(format, args...)})
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(extra, &members) != nil {
		refuse("", `is no card: want {"cardTemplateId": "…", "cardData": {"cardParamMap": {"title": "…"}}}`)
		return c, problems
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(cardMembers(), name) {
			refuse("."+name, "cannot be said here: a card has %s, and the rest comes from the message and the channel's config", strings.Join(cardMembers(), ", "))
		}
	}
	if err := json.Unmarshal(members["cardTemplateId"], &c.Template); err != nil || c.Template == "" {
		refuse(".cardTemplateId", "is required: the id of the template at DingTalk, as text")
	}
	decoder := json.NewDecoder(bytes.NewReader(members["cardData"]))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c.Data); err != nil || len(c.Data.Params) == 0 {
		refuse(".cardData", `wants {"cardParamMap": {"title": "…"}}: the template's variables, each with a text`)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Data.Params)) {
		if name == "" || len(name) > cardNameBytes || len(c.Data.Params[name]) > cardValueBytes {
			refuse(".cardData", "has the variable %.40q: DingTalk takes a name of 1 to %d bytes, and a text of at most %d", name, cardNameBytes, cardValueBytes)
		}
	}
	c.Private, c.Space = members["privateData"], members["imRobotOpenSpaceModel"]
	for _, name := range cardMembers()[2:] {
		var object map[string]json.RawMessage
		if raw, said := members[name]; said && (json.Unmarshal(raw, &object) != nil || object == nil) {
			refuse("."+name, "is no object")
		}
	}
	return c, problems
}

// workContent says what of a content is neither a text nor a card.
func workContent(_ channel.Config, c posthouse.Content) []posthouse.Problem {
	problems := channel.Sends(c, posthouse.TextContent, posthouse.TemplateContent)
	switch {
	case len(problems) > 0:
		return problems
	case c.Kind() == posthouse.TextContent:
		return channel.PlainText(c)
	case c.Text != "":
		problems = append(problems, posthouse.Problem{Path: "content.text", Message: "cannot be sent with a card: its template shows the variables of cardParamMap"})
	case len(c.Mentions) > 0 || c.MentionAll:
		problems = append(problems, posthouse.Problem{Path: "content.mentions", Message: "cannot be sent with a card: it goes to one person"})
	}
	_, wrong := cardOf(c.Extra)
	return append(problems, wrong...)
}

// sendCard delivers a card to one person, in the conversation with the application's robot. DingTalk knows it by the delivery's id, which
// comes back with what is pressed.
func (w *work) sendCard(ctx context.Context, out channel.Outgoing) channel.Result {
	to := out.Recipient.Address
	if to == "" || strings.ContainsAny(to, ";/") { // several spaces stand in one openSpaceId
		return noAddress()
	}
	c, problems := cardOf(out.Content.Extra)
	if len(problems) > 0 {
		return channel.Result{Class: posthouse.ClassContent, Error: problems[0].Path + " " + problems[0].Message}
	}
	if c.Space == nil {
		c.Space = spaceOf(out.Content.Title)
	}
	in := cardCall{card: c, Track: out.Delivery, Deliver: cardDeliver{"IM_ROBOT", w.robot}, To: "dtv1.card//IM_ROBOT." + to, IDType: 1}
	if w.routeKey != "" {
		in.Callback, in.RouteKey = "HTTP", w.routeKey
	}
	body := errcode.Encoded(in)
	var result channel.Result
	err := w.access.Call(ctx, func(token string) access.Answer {
		header := batch.WithKeys(w.header, []channel.Outgoing{out}).Clone()
		header.Set("X-Acs-Dingtalk-Access-Token", token)
		r := w.client.Do(ctx, channel.Request{Method: http.MethodPost, URL: below(w.api, "/v1.0/card/instances/createAndDeliver"), Header: header, Body: body, Hide: []string{token}})
		v := w.delivered(&r)
		result = r.Result(v)
		switch {
		case v.Class != posthouse.ClassAuth:
			return access.Fine
		case v.Code == "":
			return access.Refused
		}
		return access.Again
	})
	if err != nil {
		return access.Without(err, w.client)
	}
	return result
}

// spaceOf is how a conversation shows a card: by its title, where it has one.
func spaceOf(title string) json.RawMessage {
	type words struct {
		Chinese string `json:"ZH_CN"`
	}
	type alert struct {
		Text string `json:"alertContent"`
	}
	space := struct {
		Forward bool   `json:"supportForward"`
		Last    *words `json:"lastMessageI18n,omitempty"`
		Notice  *alert `json:"notification,omitempty"`
	}{}
	if title = oneLine(title); title != "" {
		space.Last, space.Notice = &words{title}, &alert{title}
	}
	return errcode.Encoded(space)
}

// delivered reads the answer to a card: the newer interface says by an HTTP status, a code and a message what it refuses, and by a text of
// each place where it did not deliver.
func (w *work) delivered(r *channel.Reply) channel.Verdict {
	var in struct {
		Success bool          `json:"success"`
		Code    string        `json:"code"`
		Message string        `json:"message"`
		Status  errcode.Value `json:"status"` // of what stands before the interface
		Result  struct {
			Track string `json:"outTrackId"`
			Done  []struct {
				Success bool   `json:"success"`
				Carrier string `json:"carrierId"`
				Error   string `json:"errorMsg"`
			} `json:"deliverResults"`
		} `json:"result"`
	}
	whole := r.Status != 0 && r.Err == nil && !r.Cut && json.Unmarshal(r.Body, &in) == nil
	switch {
	case r.Status == 0:
		return errcode.Ended(r, w.codes)
	case in.Status == codeBlocked || r.Status < 500 && isPage(r.Body):
		return cardCodes.Refused("DingTalk", codeBlocked, "DingTalk blocks our address: too many calls came from it", w.codes)
	case whole && in.Code != "" && !in.Success:
		return cardCodes.RefusedBy(r, "DingTalk", in.Code, in.Message, w.codes)
	case !r.OK():
		return errcode.Ended(r, w.codes)
	case !whole || !in.Success || len(in.Result.Done) != 1:
		return channel.Verdict{Class: posthouse.ClassUnknown, Message: "DingTalk's answer does not say whether the card was delivered, so it may have been"}
	}
	done := in.Result.Done[0]
	switch {
	case done.Success && done.Carrier != "":
		return channel.Verdict{Class: posthouse.ClassOK, Ref: done.Carrier}
	case done.Success:
		return channel.Verdict{Class: posthouse.ClassOK, Ref: in.Result.Track}
	case strings.EqualFold(done.Error, "SYSTEM_ERROR"):
		return cardCodes.Refused("DingTalk", "system.busy", done.Error, w.codes)
	}
	return cardCodes.Refused("DingTalk", codeNotDelivered, done.Error, w.codes)
}
