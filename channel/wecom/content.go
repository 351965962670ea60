package wecom

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// WeCom's bounds, in bytes of UTF-8, and the most articles of news.
const (
	textBytes          = 2048
	appMarkdownBytes   = 2048
	robotMarkdownBytes = 4096
	cardTitleBytes     = 128
	cardTextBytes      = 512
	maxArticles        = 8
)

// kindOf is a content's type; what names none has the channel's format.
func kindOf(c posthouse.Content, format posthouse.ContentType) posthouse.ContentType {
	if c.Type == "" && format != "" {
		return format
	}
	return c.Kind()
}

// plainText is a content as a text: the title, and the text below it.
func plainText(c posthouse.Content) string { return joined(c.Title, "\n", c.Text) }

// markdown is a content as Markdown: the title as a heading, and the text below it.
func markdown(c posthouse.Content) string {
	title := strings.Join(strings.Fields(c.Title), " ")
	if title != "" {
		title = "### " + title
	}
	return joined(title, "\n", c.Text)
}

func joined(a, between, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + between + b
}

// card is WeCom's textcard.
type card struct {
	Title  string `json:"title"`
	Text   string `json:"description"`
	URL    string `json:"url"`
	Button string `json:"btntxt,omitempty"`
}

// cardOf is a content as a textcard: its link stands in extra.
func cardOf(c posthouse.Content) (card, error) {
	out := card{Title: c.Title, Text: c.Text}
	if len(c.Extra) > 0 {
		if err := json.Unmarshal(c.Extra, &out); err != nil {
			return card{}, err
		}
	}
	out.Title, out.Text = c.Title, c.Text
	return out, nil
}

// takes is what WeCom takes of an application or of a robot, as far as they differ.
type takes struct {
	markdownBytes int
	miniPrograms  bool     // whether an article may open one in place of a link
	cards         []string // the types of template cards
}

func ofApp() takes {
	return takes{markdownBytes: appMarkdownBytes, miniPrograms: true, cards: slices.Concat(notices(), asking())}
}

func ofRobot() takes { return takes{markdownBytes: robotMarkdownBytes, cards: notices()} }

// checkWords says what of a content, but for its files, WeCom would cut or refuse.
func checkWords(c posthouse.Content, kind posthouse.ContentType, by takes) []posthouse.Problem {
	switch kind {
	case posthouse.TextContent:
		return append(notBlank("text", plainText(c)), channel.WithinBytes("text", plainText(c), textBytes)...)
	case posthouse.MarkdownContent:
		return append(notBlank("text", markdown(c)), channel.WithinBytes("text", markdown(c), by.markdownBytes)...)
	case posthouse.CardContent:
		return checkCard(c)
	case posthouse.NewsContent:
		return checkNews(c, by.miniPrograms)
	case posthouse.TemplateContent:
		return checkTemplate(c, by.cards)
	}
	return nil
}

// notBlank refuses a text that shows nothing: WeCom takes it for none.
func notBlank(field, text string) []posthouse.Problem {
	if !channel.Blank(text) {
		return nil
	}
	return []posthouse.Problem{{Path: "content." + field, Message: "is blank: WeCom refuses a message that says nothing"}}
}

// notLink says why WeCom refuses a link, empty where it takes it.
func notLink(text string) string {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return "is required: where it leads, as text"
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return fmt.Sprintf("is %.100q: want a link that begins with http:// or https://", text)
	}
	return ""
}

func checkCard(c posthouse.Content) []posthouse.Problem {
	problems := append(channel.WithinBytes("title", c.Title, cardTitleBytes), channel.WithinBytes("text", c.Text, cardTextBytes)...)
	refuse := func(field, format string, args ...any) {
		problems = append(problems, posthouse.Problem{Path: "content." + field, Message: fmt.Sprintf(format, args...)})
	}
	if channel.Blank(c.Title) {
		refuse("title", "is required for a card")
	}
	if channel.Blank(c.Text) {
		refuse("text", "is required for a card")
	}
	if card, err := cardOf(c); err != nil {
		refuse("extra.url", "is required for a card: where it leads, as text")
	} else if why := notLink(card.URL); why != "" {
		refuse("extra.url", "%s", why)
	}
	return problems
}

func checkNews(c posthouse.Content, miniPrograms bool) []posthouse.Problem {
	var in struct {
		Articles []struct {
			Title string `json:"title"`
			Text  string `json:"description"`
			URL   string `json:"url"`
			AppID string `json:"appid"` // of a mini program, which is opened in place of the link
		} `json:"articles"`
	}
	path := "content.extra.articles"
	switch err := json.Unmarshal(c.Extra, &in); {
	case err != nil:
		return []posthouse.Problem{{Path: path, Message: "is not a list of articles, each an object with a title"}}
	case len(in.Articles) < 1 || len(in.Articles) > maxArticles:
		return []posthouse.Problem{{Path: path, Message: fmt.Sprintf("has %d articles: want 1 to %d", len(in.Articles), maxArticles)}}
	}
	for i, a := range in.Articles {
		at := fmt.Sprintf("extra.articles[%d]", i)
		if channel.Blank(a.Title) {
			return []posthouse.Problem{{Path: "content." + at + ".title", Message: "is required"}}
		}
		if problems := append(channel.WithinBytes(at+".title", a.Title, cardTitleBytes), channel.WithinBytes(at+".description", a.Text, cardTextBytes)...); len(problems) > 0 {
			return problems
		}
		if why := notLink(a.URL); why != "" && !(miniPrograms && a.URL == "" && a.AppID != "") {
			return []posthouse.Problem{{Path: "content." + at + ".url", Message: why}}
		}
	}
	return nil
}

// mentionless refuses mentions where WeCom has no place for them.
func mentionless(c posthouse.Content, why string) []posthouse.Problem {
	var problems []posthouse.Problem
	if len(c.Mentions) > 0 {
		problems = append(problems, posthouse.Problem{Path: "content.mentions", Message: why})
	}
	if c.MentionAll {
		problems = append(problems, posthouse.Problem{Path: "content.mention_all", Message: why})
	}
	return problems
}
