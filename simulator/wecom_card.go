package simulator

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// Press is what a member does with a card of an application: the button that is pressed, and what was chosen before.
type Press struct {
	// Provider is wecom, feishu or dingtalk_card. Defaults to wecom.
	Provider string `json:"provider"`
	User     string `json:"user"`
	// Key is that of a button, or of an entry of the card's menu; at Feishu the name of a button; at DingTalk, whose templates have the buttons, the
	// variable of the card that the button tells back. Defaults to the card's first button, or to the variable ack_key.
	Key string `json:"key"`
	// TaskID names the card: by its task id, its outTrackId, or Feishu's message id, which may be of a card in a chat. Defaults to the member's
	// newest one.
	TaskID string `json:"task_id"`
	// Selected are the ids of what was chosen, by the key of their list. Defaults to nothing.
	Selected map[string][]string `json:"selected"`
	// Times is how often the provider tells it, as WeCom does where it is not answered in time, signed anew each time. Defaults to once.
	Times int `json:"times"`
}

// mostTold bounds how often one press is told.
const mostTold = 10

// wecomTemplate is what is read of a template card.
type wecomTemplate struct {
	Type    string         `json:"card_type"`
	Task    string         `json:"task_id"`
	Buttons []wecomTouched `json:"button_list"`
	Submit  wecomTouched   `json:"submit_button"`
	Menu    struct {
		Actions []wecomTouched `json:"action_list"`
	} `json:"action_menu"`
}

type wecomTouched struct {
	Key string `json:"key"`
}

// asks reports whether WeCom wants a task id for a card.
func (c *wecomTemplate) asks() bool {
	return len(c.Menu.Actions) > 0 || slices.Contains([]string{"button_interaction", "vote_interaction", "multiple_interaction"}, c.Type)
}

// keys are those of a card's buttons, and of its menu.
func (c *wecomTemplate) keys() (buttons, menu []string) {
	for _, b := range append(c.Buttons, c.Submit) {
		if b.Key != "" {
			buttons = append(buttons, b.Key)
		}
	}
	for _, a := range c.Menu.Actions {
		menu = append(menu, a.Key)
	}
	return buttons, menu
}

// Press has a member press a button of a card, of which the provider tells by the callback that CallBack has set.
func (s *Simulator) Press(p Press) error {
	p.Provider = cmp.Or(p.Provider, "wecom")
	if !slices.Contains([]string{"wecom", "feishu", "dingtalk_card"}, p.Provider) {
		return posthouse.Errorf(posthouse.CodeInvalid, "provider is %q: cards are pressed at wecom, feishu and dingtalk_card", p.Provider)
	}
	f, err := s.fake(p.Provider)
	if err != nil {
		return err
	}
	if !f.more.back.calls() {
		return posthouse.Errorf(posthouse.CodeConflict, "%s calls nobody back: PUT /callbacks/%s first", f.title, p.Provider)
	}
	if p.Times = cmp.Or(p.Times, 1); p.Times < 0 || p.Times > mostTold {
		return posthouse.Errorf(posthouse.CodeInvalid, "times is %d: want 1 to %d", p.Times, mostTold)
	}
	switch p.Provider {
	case "feishu":
		return s.pressFeishu(f, &p)
	case "dingtalk_card":
		return s.pressInteractive(f, &p)
	}
	card, agent, found := s.cardOf(&p)
	if !found {
		return posthouse.Errorf(posthouse.CodeNotFound, "%q has no template card with the task id %q, of those that are kept", p.User, p.TaskID)
	}
	buttons, menu := card.keys()
	if p.Key == "" && len(buttons) > 0 {
		p.Key = buttons[0]
	}
	event := "template_card_event"
	switch {
	case slices.Contains(menu, p.Key):
		event = "template_card_menu_event"
	case !slices.Contains(buttons, p.Key):
		return posthouse.Errorf(posthouse.CodeInvalid, "key is %q: the card has %s", p.Key, words(append(buttons, menu...)))
	}
	told := pressed(event, agent, card, &p, time.Now())
	for range p.Times {
		f.more.back.tell(told)
	}
	return nil
}

// cardOf is the newest card of a member with a task id, and whose application sent it.
func (s *Simulator) cardOf(p *Press) (card *wecomTemplate, agent string, found bool) {
	for _, user := range []string{p.User, strings.ToLower(p.User)} { // user ids have no case
		for _, a := range slices.Backward(s.Arrivals(Filter{Provider: "wecom", User: user, Limit: maxListed})) {
			var c wecomTemplate
			if a.taken() && json.Unmarshal([]byte(a.Text), &c) == nil && c.Type != "" && (p.TaskID == "" || p.TaskID == c.Task) {
				return &c, a.Account, true
			}
		}
	}
	return nil, "", false
}

// pressed is the event that tells of a press.
func pressed(event, agent string, card *wecomTemplate, p *Press, at time.Time) string {
	type chosen struct {
		Question string   `xml:"QuestionKey"`
		Options  []string `xml:"OptionIds>OptionId"`
	}
	out := struct {
		XMLName  xml.Name `xml:"xml"`
		To       string   `xml:"ToUserName"`
		From     string   `xml:"FromUserName"`
		At       int64    `xml:"CreateTime"`
		Type     string   `xml:"MsgType"`
		Event    string   `xml:"Event"`
		Key      string   `xml:"EventKey"`
		Task     string   `xml:"TaskId"`
		Card     string   `xml:"CardType"`
		Code     string   `xml:"ResponseCode"`
		Agent    string   `xml:"AgentID"`
		Selected []chosen `xml:"SelectedItems>SelectedItem"`
	}{
		To: "us", From: p.User, At: at.Unix(), Type: "event", Event: event, Key: p.Key, Task: card.Task, Card: card.Type,
		Code: "rc-" + posthouse.NewID(), Agent: agent,
	}
	for _, question := range slices.Sorted(maps.Keys(p.Selected)) {
		out.Selected = append(out.Selected, chosen{question, p.Selected[question]})
	}
	text, _ := xml.Marshal(out) // texts and a number: cannot fail
	return string(text)
}

func (p panel) pressCard(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	var press Press
	if err := json.Unmarshal(body, &press); err != nil {
		return posthouse.Errorf(posthouse.CodeInvalid, "the body is no press: %w", err)
	}
	press.Provider = r.PathValue("provider")
	if err := p.Press(press); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
