package wecom

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// taskMember is the name of a template card's task id in the card. WeCom tells it with what is pressed.
const taskMember = "task_id"

// notices are the types of template cards that say something and lead somewhere.
func notices() []string { return []string{"text_notice", "news_notice"} }

// asking are the types of template cards that wait for an answer of their reader: WeCom wants a task id for them, and for each
// card with a menu.
func asking() []string {
	return []string{"button_interaction", "vote_interaction", "multiple_interaction"}
}

// templateCard is what is read of a template card: what WeCom wants of each type. It says itself what is wrong with the rest.
type templateCard struct {
	Type  string `json:"card_type"`
	Title struct {
		Title string `json:"title"`
		Text  string `json:"desc"`
	} `json:"main_title"`
	Subtitle string          `json:"sub_title_text"`
	Image    json.RawMessage `json:"card_image"`
	Beside   json.RawMessage `json:"image_text_area"`
	Action   *struct {
		Type  int    `json:"type"`
		URL   string `json:"url"`
		AppID string `json:"appid"`
	} `json:"card_action"`
	Buttons []struct {
		Type int    `json:"type"`
		Text string `json:"text"`
		Key  string `json:"key"`
		URL  string `json:"url"`
	} `json:"button_list"`
	Vote   *cardQuestion  `json:"checkbox"`
	Lists  []cardQuestion `json:"select_list"`
	Submit struct {
		Key string `json:"key"`
	} `json:"submit_button"`
}

// cardQuestion is what somebody chooses from on a card.
type cardQuestion struct {
	Key     string `json:"question_key"`
	Options []struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	} `json:"option_list"`
}

// The most entries of a card's lists that WeCom takes.
const (
	mostButtons = 6
	mostLists   = 3
	mostVotes   = 20
	mostOptions = 10
)

// checkTemplate looks at a template card.
func checkTemplate(c posthouse.Content, types []string) []posthouse.Problem {
	var card templateCard
	check := cardCheck{}
	switch err := json.Unmarshal(c.Extra, &card); {
	case err != nil:
		check.refuse("", "is no template card: %v", err)
		return check.problems
	case !slices.Contains(types, card.Type):
		check.refuse(".card_type", "is %.60q: want one of %s", card.Type, strings.Join(types, ", "))
		return check.problems
	}
	check.kind = card.Type
	check.title(&card)
	switch card.Type {
	case "text_notice":
		check.action(&card)
	case "news_notice":
		if none(card.Image) && none(card.Beside) {
			check.missing(".card_image")
		}
		check.action(&card)
	case "button_interaction":
		check.buttons(&card)
	case "vote_interaction":
		if card.Vote == nil {
			check.missing(".checkbox")
		} else {
			check.question(".checkbox", card.Vote, mostVotes)
		}
		check.submit(&card)
	case "multiple_interaction":
		if check.list(".select_list", len(card.Lists), mostLists) {
			for i := range card.Lists {
				check.question(fmt.Sprintf(".select_list[%d]", i), &card.Lists[i], mostOptions)
			}
		}
		check.submit(&card)
	}
	return check.problems
}

// none reports whether a member is missing.
func none(member json.RawMessage) bool { return len(member) == 0 || string(member) == "null" }

// cardCheck notes what is wrong with a card of a type.
type cardCheck struct {
	kind     string
	problems []posthouse.Problem
}

func (k *cardCheck) refuse(field, format string, args ...any) {
	k.problems = append(k.problems, posthouse.Problem{Path: "content.extra" + field, Message: fmt.Sprintf(format, args...)})
}

// missing refuses a card without a member that its type needs.
func (k *cardCheck) missing(field string) { k.refuse(field, "is required for a %s", k.kind) }

// filled refuses a member that is blank.
func (k *cardCheck) filled(field, text string) {
	if channel.Blank(text) {
		k.refuse(field, "is required")
	}
}

// title wants that a card says something: a text notice by its title or its text, any other one by what stands beside the title too.
func (k *cardCheck) title(card *templateCard) {
	if channel.Blank(card.Title.Title) && channel.Blank(card.Subtitle) && (k.kind == "text_notice" || channel.Blank(card.Title.Text)) {
		k.missing(".main_title.title")
	}
}

func (k *cardCheck) action(card *templateCard) {
	switch a := card.Action; {
	case a == nil:
		k.refuse(".card_action", "is required for a %s: where it leads", k.kind)
	case a.Type == 1 && notLink(a.URL) != "":
		k.refuse(".card_action.url", "%s", notLink(a.URL))
	case a.Type == 2 && a.AppID == "":
		k.refuse(".card_action.appid", "is required: the mini program that it opens")
	case a.Type != 1 && a.Type != 2:
		k.refuse(".card_action.type", "is %d: want 1 for a link or 2 for a mini program", a.Type)
	}
}

// list wants a list that has something, and not more than WeCom takes.
func (k *cardCheck) list(field string, n, most int) bool {
	switch {
	case n == 0:
		k.missing(field)
	case n > most:
		k.refuse(field, "has %d entries: WeCom takes at most %d", n, most)
	}
	return n > 0 && n <= most
}

func (k *cardCheck) buttons(card *templateCard) {
	if !k.list(".button_list", len(card.Buttons), mostButtons) {
		return
	}
	for i, b := range card.Buttons {
		at := fmt.Sprintf(".button_list[%d]", i)
		k.filled(at+".text", b.Text)
		if b.Type != 1 { // else it opens its link
			k.filled(at+".key", b.Key)
		} else if why := notLink(b.URL); why != "" {
			k.refuse(at+".url", "%s", why)
		}
	}
}

func (k *cardCheck) question(at string, q *cardQuestion, most int) {
	k.filled(at+".question_key", q.Key)
	if !k.list(at+".option_list", len(q.Options), most) {
		return
	}
	for i, o := range q.Options {
		k.filled(fmt.Sprintf("%s.option_list[%d].id", at, i), o.ID)
		k.filled(fmt.Sprintf("%s.option_list[%d].text", at, i), o.Text)
	}
}

func (k *cardCheck) submit(card *templateCard) {
	if channel.Blank(card.Submit.Key) {
		k.missing(".submit_button.key")
	}
}

// cardMembers are the members of a template card; nil for what is none.
func cardMembers(extra json.RawMessage) (card map[string]json.RawMessage) {
	if json.Unmarshal(extra, &card) != nil {
		return nil
	}
	return card
}

// unnamed reports whether a card needs a task id and has none.
func unnamed(card map[string]json.RawMessage) bool {
	var kind, task string
	_ = json.Unmarshal(card["card_type"], &kind) // what is missing
	_ = json.Unmarshal(card[taskMember], &task)  // or no text
	menu, has := card["action_menu"]             // is none
	return task == "" && (slices.Contains(asking(), kind) || has && string(menu) != "null")
}

// named gives a card that needs a task id and has none the id of the first delivery of its call, so that what is pressed on it
// finds its delivery. It is the same each time the call is made.
func named(extra json.RawMessage, delivery string) json.RawMessage {
	card := cardMembers(extra)
	if !unnamed(card) {
		return extra
	}
	card[taskMember], _ = json.Marshal(taskOf(delivery)) // a text: cannot fail
	text, err := json.Marshal(card)                      // sorted: a repeated call is the same
	if err != nil {
		return extra
	}
	return text
}

// A task id has letters, digits, "_", "-" and "@", and a campaign's member has a dot in its id.
func taskOf(delivery string) string { return strings.ReplaceAll(delivery, ".", "@") }
func deliveryOf(task string) string { return strings.ReplaceAll(task, "@", ".") }
