package draft_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
)

// Each odd content is refused with one problem that names the field.
func TestAnOddContentIsNamed(t *testing.T) {
	t.Parallel()
	file := []posthouse.Media{{ID: "m1"}}
	for _, c := range []struct {
		name    string
		content posthouse.Content
		path    string // empty where it is taken
	}{
		{"a text", posthouse.Content{Text: "x"}, ""},
		{"a title alone", posthouse.Content{Title: "x"}, ""},
		{"a text by name", posthouse.Content{Type: "text", Text: "x", Mentions: []string{"zhangsan"}}, ""},
		{"an image", posthouse.Content{Type: "image", Media: file}, ""},
		{"a file by URL", posthouse.Content{Type: "file", Media: []posthouse.Media{{URL: "https://example.com/a.pdf"}}}, ""},
		{"news", posthouse.Content{Type: "news", Extra: json.RawMessage(`{"articles":[]}`)}, ""},
		{"nothing", posthouse.Content{}, "content.text"},
		{"an unknown type", posthouse.Content{Type: "picture", Text: "x"}, "content.type"},
		{"an image without a file", posthouse.Content{Type: "image"}, "content.media"},
		{"two files", posthouse.Content{Type: "image", Media: []posthouse.Media{{ID: "a"}, {ID: "b"}}}, "content.media"},
		{"a text with a file", posthouse.Content{Text: "x", Media: file}, "content.media"},
		{"a file of no name", posthouse.Content{Type: "file", Media: []posthouse.Media{{}}}, "content.media[0]"},
		{"a file of two names", posthouse.Content{Type: "file", Media: []posthouse.Media{{ID: "a", URL: "https://example.com"}}}, "content.media[0]"},
		{"a file of the machine", posthouse.Content{Type: "file", Media: []posthouse.Media{{URL: "file:///etc/passwd"}}}, "content.media[0].url"},
		{"a password in a URL", posthouse.Content{Type: "file", Media: []posthouse.Media{{URL: "https://a:b@example.com"}}}, "content.media[0].url"},
		{"news without articles", posthouse.Content{Type: "news", Text: "x"}, "content.extra"},
		{"a list as extra", posthouse.Content{Text: "x", Extra: json.RawMessage(`[1]`)}, "content.extra"},
		{"a large extra", posthouse.Content{Text: "x", Extra: json.RawMessage(`{"a":"` + strings.Repeat("x", 64<<10) + `"}`)}, "content.extra"},
		{"a link that only a route fills in", posthouse.Content{Text: "take note: ${ack_url}"}, "content.text"},
		{"another in the title", posthouse.Content{Title: "${preferences_url}", Text: "x"}, "content.text"},
		{"an empty mention", posthouse.Content{Text: "x", Mentions: []string{"a", ""}}, "content.mentions[1]"},
		{"many mentions", posthouse.Content{Text: "x", Mentions: make([]string, 1001)}, "content.mentions"},
		{"a mention of two lines", posthouse.Content{Text: "x", Mentions: []string{"a\nb"}}, "content.mentions[0]"},
	} {
		d := posthouse.Draft{Channel: "c", To: []posthouse.Recipient{{User: "u"}}, Content: &c.content}
		var p draft.Problems
		draft.Check(&d, draft.MaxRecipients, time.Now(), &p)
		var paths []string
		for _, problem := range p.List {
			paths = append(paths, problem.Path)
		}
		if got := strings.Join(paths, ","); got != c.path {
			t.Errorf("%s: problems at %q, want %q", c.name, got, c.path)
		}
	}
}
