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

// notices are the types of template cards that say something and lead somewhere.
func notices() []string { return []string{"text_notice", "news_notice"} }

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

// notBlank refuses a text of spaces alone: WeCom takes it for none.
func notBlank(field, text string) []posthouse.Problem {
	if strings.TrimSpace(text) != "" {
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
	if strings.TrimSpace(c.Title) == "" {
		refuse("title", "is required for a card")
	}
	if strings.TrimSpace(c.Text) == "" {
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
		if strings.TrimSpace(a.Title) == "" {
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

// checkTemplate looks at a template card: of the rest of it WeCom says itself what is wrong.
func checkTemplate(c posthouse.Content, types []string) []posthouse.Problem {
	var card struct {
		Type   string `json:"card_type"`
		Action *struct {
			Type  int    `json:"type"`
			URL   string `json:"url"`
			AppID string `json:"appid"`
		} `json:"card_action"`
	}
	refuse := func(field, format string, args ...any) []posthouse.Problem {
		return []posthouse.Problem{{Path: "content.extra" + field, Message: fmt.Sprintf(format, args...)}}
	}
	switch err := json.Unmarshal(c.Extra, &card); {
	case err != nil:
		return refuse("", "is no template card: %v", err)
	case !slices.Contains(types, card.Type):
		return refuse(".card_type", "is %.60q: want one of %s", card.Type, strings.Join(types, ", "))
	case !slices.Contains(notices(), card.Type):
		return nil // what is pressed on it is its purpose
	case card.Action == nil:
		return refuse(".card_action", "is required for a %s: where it leads", card.Type)
	case card.Action.Type == 1 && notLink(card.Action.URL) != "":
		return refuse(".card_action.url", "%s", notLink(card.Action.URL))
	case card.Action.Type == 2 && card.Action.AppID == "":
		return refuse(".card_action.appid", "is required: the mini program that it opens")
	case card.Action.Type != 1 && card.Action.Type != 2:
		return refuse(".card_action.type", "is %d: want 1 for a link or 2 for a mini program", card.Action.Type)
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
