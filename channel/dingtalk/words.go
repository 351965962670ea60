package dingtalk

import (
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// beijing is the time zone of DingTalk's users.
var beijing = time.FixedZone("UTC+8", 8*60*60)

// plainText is a message as a text: the title, and the text below it.
func plainText(c posthouse.Content) string {
	return strings.TrimSpace(strings.Join(nonEmpty(c.Title, c.Text), "\n"))
}

// markdown is a message as Markdown: the title as a heading, and the text below it.
func markdown(c posthouse.Content) string {
	if c.Title == "" {
		return c.Text
	}
	return strings.TrimSpace("### " + oneLine(c.Title) + "\n\n" + c.Text)
}

// heading is the title that DingTalk shows in lists of conversations and wants for Markdown: the title, or
// the text's first line.
func heading(c posthouse.Content) string {
	title := oneLine(c.Title)
	if title == "" {
		title, _, _ = strings.Cut(strings.TrimSpace(c.Text), "\n")
	}
	return title
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func nonEmpty(list ...string) []string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}
