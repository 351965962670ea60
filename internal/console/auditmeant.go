package console

import (
	"regexp"
	"slices"
	"strings"
)

// personKey begins the key of what a person did at the console.
const personKey = "person:"

// keyID is what ids of keys look like, as secret.NewKey draws them.
var keyID = regexp.MustCompile(`^[0-9a-z]{12}$`)

// keyMeant is the key that a person asks the log for: by its id or name, or by the name or title of a person, as the lines show them. A person
// who may see neither people nor keys, as in another tenant than the default, asks by name alone.
func keyMeant(v *visit, text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" || strings.Contains(text, ":") {
		return text, nil
	}
	people, err := v.call().People.List(v.ctx())
	if err = hiddenFrom(err); err != nil {
		return "", err
	}
	keys, err := v.call().Keys.List(v.ctx())
	if err = hiddenFrom(err); err != nil {
		return "", err
	}
	for _, p := range people {
		if p.Name == text {
			return personKey + p.Name, nil
		}
	}
	for _, k := range keys {
		if k.ID == text {
			return text, nil
		}
	}
	for _, p := range people {
		if strings.EqualFold(p.Name, text) || strings.EqualFold(p.Title, text) {
			return personKey + p.Name, nil
		}
	}
	for _, k := range keys {
		if strings.EqualFold(k.Name, text) || (frame{v: v}).KeyWord(k.Name) == text {
			return k.ID, nil
		}
	}
	if keyID.MatchString(text) {
		return text, nil // of one that is deleted
	}
	return personKey + text, nil // who is no longer there has left lines all the same
}

// mostMeant bounds the actions that one word stands for, as the log does.
const mostMeant = 20

// actionsMeant are the actions that somebody asks the log for, by their codes or by the words that the lines show: of one action, of a kind of
// thing, or a part of such words.
func (f frame) actionsMeant(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text, ".*,") {
		return text
	}
	of, done := namesOf("audit_of_"), namesOf("audit_do_")
	var whole []string
	for _, thing := range of {
		if thing == text || strings.EqualFold(f.T("audit_of_"+thing), text) {
			return thing + ".*"
		}
		for _, act := range done {
			if action := thing + "." + act; strings.EqualFold(f.ActionWord(action), text) {
				whole = append(whole, action)
			}
		}
	}
	for _, action := range auditActions() {
		if len(whole) < mostMeant && strings.Contains(strings.ToLower(f.ActionWord(action)), strings.ToLower(text)) && !slices.Contains(whole, action) {
			whole = append(whole, action)
		}
	}
	if len(whole) == 0 {
		return text
	}
	return strings.Join(whole, ",")
}

// namesOf are the ends of the names of texts that begin so, in order.
func namesOf(beginning string) (list []string) {
	for name := range allTexts() {
		if end, is := strings.CutPrefix(name, beginning); is {
			list = append(list, end)
		}
	}
	slices.Sort(list)
	return list
}
