package wecom

import (
	"encoding/json"
	"slices"
	"strings"
)

// taskMember is the name of a template card's task id in the card. WeCom tells it with what is pressed.
const taskMember = "task_id"

// asking are the types of template cards that wait for an answer of their reader: WeCom wants a task id for them, and for each
// card with a menu.
func asking() []string {
	return []string{"button_interaction", "vote_interaction", "multiple_interaction"}
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
