package digest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/render"
)

// Bounds of the list that a text is made of, in bytes. What is longer is cut.
const (
	mostList = draft.MaxText / 2
	mostItem = 2000
)

// defaultLine is what a line of the list is made of where a digest does not say.
const defaultLine = "${n}. ${title} ${text}"

// listOf is a line for each message, in their order.
func listOf(line string, messages []posthouse.Message) (string, error) {
	if line == "" {
		line = defaultLine
	}
	tpl, err := render.Parse(line)
	if err != nil {
		return "", fmt.Errorf("the line of the digest: %w", err)
	}
	most := min(mostItem, mostList/max(1, len(messages)))
	lines := make([]string, len(messages))
	for i := range messages {
		m := &messages[i]
		values := map[string]string{
			"n": fmt.Sprint(i + 1), "title": m.Content.Title, "text": m.Content.Text, "kind": m.Kind, "ref": m.Ref, "source": m.Source,
			"at": m.CreatedAt.UTC().Format(time.RFC3339),
		}
		fields := map[string]any{}
		if len(m.Payload) > 0 {
			if err := json.Unmarshal(m.Payload, &fields); err != nil {
				return "", fmt.Errorf("the payload of the message %s: %w", m.ID, err)
			}
		}
		for name, v := range fields {
			if _, ours := values[name]; ours {
				continue
			}
			switch v.(type) {
			case string, float64, bool:
				values[name] = fmt.Sprint(v)
			}
		}
		text, err := tpl.Fill(func(name string) (string, bool) { return values[name], true })
		if err != nil {
			return "", fmt.Errorf("the line of the digest: %w", err)
		}
		lines[i] = cut(strings.TrimSpace(strings.ReplaceAll(text, ".  ", ". ")), most)
	}
	return strings.Join(lines, "\n"), nil
}

// cut is the beginning of a text of at most so many bytes, with a sign where it was longer.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return render.Cut(text, most-len("…"), render.Bytes) + "…"
}

// contentOf is what a collection says where its digest has no template.
func (c *collection) contentOf(list string, messages []posthouse.Message) *posthouse.Content {
	out := &posthouse.Content{Title: fmt.Sprintf("%s (%d)", c.Digest, len(messages)), Text: list}
	for i := range messages {
		if messages[i].Content.Type != posthouse.MarkdownContent {
			return out
		}
	}
	out.Type = posthouse.MarkdownContent
	return out
}

// Names are what the template of a digest is filled with.
func Names() []string {
	return []string{"digest", "count", "list", "kind", "by", "user", "first_at", "last_at"}
}

// payloadOf is what the template of a collection is filled with.
func (c *collection) payloadOf(list string, messages []posthouse.Message) (json.RawMessage, error) {
	type item struct {
		Message string `json:"message"`
		Kind    string `json:"kind,omitempty"`
		Ref     string `json:"ref,omitempty"`
	}
	items := make([]item, len(messages))
	for i := range messages {
		items[i] = item{messages[i].ID, messages[i].Kind, messages[i].Ref}
	}
	user := c.To.User
	if user == "" {
		user = c.To.Address
	}
	return json.Marshal(map[string]any{
		"digest": c.Digest, "count": len(messages), "list": list, "kind": c.Kind, "by": c.By, "user": user, "messages": items,
		"first_at": messages[0].CreatedAt.UTC().Format(time.RFC3339), "last_at": messages[len(messages)-1].CreatedAt.UTC().Format(time.RFC3339),
	})
}
