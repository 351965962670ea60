package channel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Everybody names the field by which a delivery calls everybody whom its channel reaches, such as "content.mentions[0]", and is empty
// for one that does not. It is the one place that decides so: it asks for what is the same with all drivers, since whoever configures
// a driver for a provider of their own may hand on any of it, and then the type's own Everyone. Of out it reads the recipient, the
// content and the payload; any of them may be missing.
func (t Type) Everybody(c Config, out Outgoing) (field string) {
	if field = Everybody(out); field == "" && t.Everyone != nil {
		field = t.Everyone(c, out)
	}
	return field
}

// Everybody is what means everybody to all drivers: see [Type.Everybody].
func Everybody(out Outgoing) (field string) {
	c := &out.Content
	switch {
	case c.MentionAll:
		return "content.mention_all"
	case IsEverybody(out.Recipient.Address):
		return "address"
	case IsEverybody(out.Recipient.User):
		return "user"
	case CallsEverybody(c.Title):
		return "content.title"
	case CallsEverybody(c.Text), CallsEverybody(c.Title + "\n" + c.Text): // a mark may begin in the one and end in the other
		return "content.text"
	}
	for i, name := range c.Mentions {
		if IsEverybody(name) || CallsEverybody("<@"+name+">") {
			return fmt.Sprintf("content.mentions[%d]", i)
		}
	}
	if path := everybodyIn(c.Extra, true); path != "" {
		return "content.extra" + path
	}
	if path := everybodyIn(out.Payload, false); path != "" {
		return "payload" + path
	}
	return ""
}

// allNames are what providers call everybody by behind an @: WeCom, DingTalk and Feishu, and those that speak English.
func allNames() []string {
	return []string{"all", "all_group", "everyone", "channel", "here", "所有人", "全体成员", "全员"}
}

// allMarks are the marks of everybody in a text that has been folded: WeCom's and DingTalk's <@all>, Slack's <!channel>, Feishu's
// <at user_id="all">, Google Chat's <users/all> and Zulip's @**all**. The bare words "@all" in a text are what people write, and no provider named
// here takes them for more; one that does has them in the setting everybody of its channel (package httpapi).
var allMarks = regexp.MustCompile(`@\s*\*\*\s*(?:all|everyone|channel|stream|topic)\s*\*\*|<\s*users\s*/\s*all\s*>|<\s*@\s*(?:all|all_group|everyone|所有人|全体成员|全员)\s*[|>]|<\s*!\s*(?:channel|here|everyone)\s*[|>]|<\s*at\b[^>]*=\s*\\?["']?\s*all\b`)

// IsEverybody reports whether a name, such as an address, is that of everybody, however it is written: case, width, spaces and signs
// that nobody sees do not count. A list is everybody where one of it is.
func IsEverybody(name string) bool {
	if !mayCall(name, "@", "＠", "﹫") {
		return false
	}
	apart := func(r rune) bool { return strings.ContainsRune("|,;、", r) }
	return slices.ContainsFunc(strings.FieldsFunc(folded(name), apart), func(part string) bool {
		part = strings.Join(strings.Fields(part), "")
		bare, at := strings.CutPrefix(part, "@")
		return at && slices.Contains(allNames(), bare)
	})
}

// CallsEverybody reports whether a text has a mark that calls everybody.
func CallsEverybody(text string) bool {
	return mayCall(text, "<", "＜", "﹤", "**", "＊") && allMarks.MatchString(folded(text))
}

// mayCall is a quick look for the sign that begins a name or a mark, in each width there is: most texts have none.
func mayCall(text string, signs ...string) bool {
	return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(text, sign) })
}

// folded is a text in one case and width, without signs that nobody sees.
func folded(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Cc, unicode.Variation_Selector, unicode.Mn) && !unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKC.String(text))
}

// everybodyIn is the path of the first value in a JSON that calls everybody; switches says whether members such as isAtAll count.
func everybodyIn(text json.RawMessage, switches bool) string {
	signs := []string{"@", "＠", "﹫", "<", "＜", "﹤", `\u`} // a mark of Zulip begins with the first
	if !switches && !mayCall(string(text), signs...) {
		return ""
	}
	return pathIn(text, switches, func(text string) bool { return IsEverybody(text) || CallsEverybody(text) })
}

// EverybodyByWord names the field that has one of the words by which a provider calls everybody, such as "content.text", and is empty for none. A
// word counts where it stands by itself, and not as a part of another, such as the host of a mail address; case, width and signs that nobody sees do
// not count. It is for the Everyone of drivers whose provider takes bare words.
func EverybodyByWord(out Outgoing, words []string) (field string) {
	has := func(text string) bool {
		text = folded(text)
		return slices.ContainsFunc(words, func(word string) bool { return standsIn(text, folded(word)) })
	}
	switch c := &out.Content; {
	case len(words) == 0:
		return ""
	case has(c.Title):
		return "content.title"
	case has(c.Text):
		return "content.text"
	}
	if path := pathIn(out.Content.Extra, false, has); path != "" {
		return "content.extra" + path
	}
	if path := pathIn(out.Payload, false, has); path != "" {
		return "payload" + path
	}
	return ""
}

// standsIn reports whether a word stands in a text by itself.
func standsIn(text, word string) bool {
	part := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) } // Mattermost takes underscores off a word before it looks
	for word != "" {
		before, after, found := strings.Cut(text, word)
		if !found {
			return false
		}
		left, _ := utf8.DecodeLastRuneInString(before)
		right, _ := utf8.DecodeRuneInString(after)
		if !part(left) && !part(right) {
			return true
		}
		text = after
	}
	return false
}

// pathIn is the path of the first value in a JSON that calls everybody, by calls or by a switch where these count.
func pathIn(text json.RawMessage, switches bool, calls func(text string) bool) string {
	if len(text) == 0 {
		return ""
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return ""
	}
	return pathAt(v, switches, calls)
}

func pathAt(v any, switches bool, calls func(text string) bool) string {
	switch v := v.(type) {
	case string:
		if !calls(v) {
			return ""
		}
		return " "
	case []any:
		for i, one := range v {
			if path := pathAt(one, switches, calls); path != "" {
				return fmt.Sprintf("[%d]%s", i, strings.TrimSpace(path))
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if path := pathAt(v[name], switches, calls); path != "" || switches && isSwitch(name) && isOn(v[name]) {
				return "." + name + strings.TrimSpace(path)
			}
		}
	}
	return ""
}

// isSwitch reports whether a member of a provider's call is one that calls everybody, such as isAtAll or to_all_user.
func isSwitch(name string) bool {
	switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
	case "isatall", "atall", "mentionall", "toall", "istoall", "toalluser":
		return true
	}
	return false
}

func isOn(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case json.Number:
		return v.String() != "0"
	case string:
		return strings.EqualFold(v, "true") || v == "1"
	}
	return false
}
