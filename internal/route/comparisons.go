package route

import (
	"slices"
	"time"

	"golang.org/x/text/language"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/expression"
)

// checkComparisons says which constants of a condition nothing can ever be equal to: a step would begin for nobody, or for everybody, and no error would
// tell. The directory refuses users with such a value, and the API such messages. An empty text is what has no value.
func checkComparisons(source, path string, p *draft.Problems) {
	for _, c := range expression.Comparisons(source) {
		if c.Text == "" {
			continue
		}
		switch c.Name {
		case "time_zone":
			if zone, err := time.LoadLocation(c.Text); err != nil || zone == time.Local {
				p.Add(path, `compares time_zone with %.60q, which no person can have: want an IANA time zone, such as time_zone == "Asia/Shanghai"`, c.Text)
			}
		case "language":
			if kept := tagOf(c.Text); kept != c.Text {
				p.Add(path, `compares language with %.60q, which no person can have: want the tag of a language as the directory keeps it, such as language == %q`, c.Text, kept)
			}
		case "priority":
			if !slices.Contains(posthouse.Priorities(), posthouse.Priority(c.Text)) {
				p.Add(path, `compares priority with %.60q, which no message can have: want high, normal or low, such as priority == "high"`, c.Text)
			}
		case "kind", "type":
			if !isWord(c.Text) {
				p.Add(path, `compares %s with %.60q, which nothing can have: want one line of at most %d bytes, such as kind == "alert"`, c.Name, c.Text, draft.MaxWord)
			}
		}
	}
}

// tagOf is the tag of a language as the directory keeps it; of a text that is none, it is an example.
func tagOf(text string) string {
	tag, err := language.Parse(text)
	if err != nil || tag == language.Und {
		return "zh-CN"
	}
	return tag.String()
}

// isWord reports whether a text may be the kind of a message, or the type of a recipient.
func isWord(text string) bool {
	var p draft.Problems
	p.Word("", text, draft.MaxWord)
	return len(p.List) == 0
}

// examples are conditions by what they ask for; that of the empty name is for all others.
var examples = map[string]string{"roles": `"lead" in roles`, "hour": "hour >= 22 or hour < 7", "weekday": "weekday <= 5", "payload": `payload.severity == "critical"`, "": `priority == "high"`}

// exampleOf is a condition by something that another one asks for.
func exampleOf(when string) string {
	for _, name := range expression.Names(when) {
		if example := examples[name]; example != "" {
			return example
		}
	}
	return examples[""]
}
