package wechat

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// bound is what a parameter of a template of WeChat's may hold. Its name says which: thing1 is a thing.
type bound struct {
	most int // characters
	of   string
	only func(r rune) bool // nil for any character
	// fits is whether a whole text is one, such as said by like. Nil where its characters decide.
	fits func(text string) bool
	like string
}

func digitOrSign(r rune) bool { return r < utf8.RuneSelf && !unicode.IsLetter(r) }

func ascii(r rune) bool { return r < utf8.RuneSelf }

func han(r rune) bool { return unicode.Is(unicode.Han, r) }

// bounds are those of WeChat's page about the parameters of subscription notices, which holds for template messages of its categories
// too.
func bounds() map[string]bound {
	return map[string]bound{
		"thing":            {most: 20, of: "characters"},
		"number":           {most: 32, of: "digits", only: digitOrSign},
		"letter":           {most: 32, of: "letters", only: ascii},
		"symbol":           {most: 5, of: "symbols", only: func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }},
		"character_string": {most: 32, of: "digits, letters and symbols of ASCII", only: ascii},
		"phone_number":     {most: 17, of: "digits and symbols", only: digitOrSign},
		"car_number":       {most: 8, of: "characters"},
		"phrase":           {most: 5, of: "Chinese characters", only: han},
		"name":             {most: 20, of: "characters"},
		"const":            {most: 20, of: "characters"},
		"time":             {most: longestTime, of: "characters", fits: timely, like: "15:01, or 2026年10月1日 15:01"},
		"date":             {most: longestTime, of: "characters", fits: dated, like: "2026年10月1日, or 2026-10-01 15:01"},
		"amount":           {most: 16, of: "characters", fits: amount.MatchString, like: "¥36.5, or 36.5元"},
	}
}

// longestTime is a span of two days with their times.
const longestTime = 64

var (
	day    = regexp.MustCompile(`(\d{4})(?:年|-|/|\.)(\d{1,2})(?:月|-|/|\.)(\d{1,2})日?`)
	clock  = regexp.MustCompile(`(\d{1,2})[:：](\d{2})`)
	amount = regexp.MustCompile(`^\p{Sc}?\d{1,10}(?:\.\d{1,10})?元?$`)
)

// dated reports whether a text has days of the calendar, and timely whether it has such or times of a day, all of them possible.
func dated(text string) bool { return possible(text) && day.MatchString(text) }

func timely(text string) bool {
	return possible(text) && (clock.MatchString(text) || day.MatchString(text))
}

// possible reports whether there are the days and the times of a day that a text has.
func possible(text string) bool {
	for _, m := range day.FindAllStringSubmatch(text, -1) {
		if _, err := time.Parse("2006-1-2", m[1]+"-"+m[2]+"-"+m[3]); err != nil {
			return false
		}
	}
	for _, m := range clock.FindAllStringSubmatch(text, -1) {
		if _, err := time.Parse("15:04", fmt.Sprintf("%02s:%s", m[1], m[2])); err != nil && m[1] != "24" {
			return false
		}
	}
	return true
}

// mostChineseName bounds a name that has Chinese characters.
const mostChineseName = 10

// takes says what WeChat takes as a parameter, empty where the name does not say what it holds.
func takes(name string) string {
	kind := strings.TrimRight(name, "0123456789")
	s, is := bounds()[kind]
	switch {
	case !is || kind == name:
		return ""
	case s.fits != nil:
		return "such as " + s.like
	case kind == "name":
		return fmt.Sprintf("at most %d Chinese characters or %d letters", mostChineseName, s.most)
	}
	return fmt.Sprintf("at most %d %s", s.most, s.of)
}

// parameters says what WeChat refuses of the parameters of a template (47003): those whose names say what they hold.
func parameters(payload json.RawMessage) (list []posthouse.Problem) {
	given, err := data(payload)
	if err != nil {
		return []posthouse.Problem{{Path: "payload", Message: err.Error()}}
	}
	known := bounds()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		kind := strings.TrimRight(name, "0123456789")
		s, is := known[kind]
		if !is || kind == name {
			continue
		}
		text, most := given[name].Value, s.most
		if kind == "name" && strings.ContainsFunc(text, han) {
			most = mostChineseName
		}
		wrong := func(format string, args ...any) {
			list = append(list, posthouse.Problem{Path: "payload." + name, Message: fmt.Sprintf(format, args...)})
		}
		switch n := utf8.RuneCountInString(text); {
		case channel.Blank(text):
			wrong("is empty, which WeChat refuses")
		case n > most:
			wrong("has %d characters: WeChat takes at most %d %s as a %s", n, most, s.of, kind)
		case s.fits != nil && !s.fits(text):
			wrong("is %.40q: as a parameter %s WeChat takes a text such as %s", text, kind, s.like)
		case s.only != nil && strings.ContainsFunc(text, func(r rune) bool { return !s.only(r) }):
			wrong("is %.40q: WeChat takes %s only as a %s", text, s.of, kind)
		}
	}
	return list
}

// kept is the answer that lists an account's templates: those of template messages, or of subscription notices.
type kept struct {
	List *[]struct {
		ID      string `json:"template_id"`
		Title   string `json:"title"`
		Content string `json:"content"`
	} `json:"template_list"`
	Data *[]struct {
		ID      string `json:"priTmplId"`
		Title   string `json:"title"`
		Content string `json:"content"`
	} `json:"data"`
}

// parameter is a placeholder in the content of a template of WeChat's.
var parameter = regexp.MustCompile(`\{\{\s*(\w+)\.DATA\s*\}\}`)

// Templates lists the templates that the account keeps at WeChat.
func (d *driver) Templates(ctx context.Context) (list []channel.ProviderTemplate, err error) {
	from := "/cgi-bin/template/get_all_private_template"
	if !d.repeats { // a subscription notice
		from = "/wxaapi/newtmpl/gettemplate"
	}
	var got kept
	if err := d.ask(ctx, "its templates", from, url.Values{}, &got, func() bool { return got.List != nil || got.Data != nil }); err != nil {
		return nil, err
	}
	add := func(id, title, content string) {
		t := channel.ProviderTemplate{ID: id, Title: title}
		for _, m := range parameter.FindAllStringSubmatch(content, -1) {
			t.Parameters = append(t.Parameters, m[1])
		}
		list = append(list, t)
	}
	if got.List != nil {
		for _, t := range *got.List {
			add(t.ID, t.Title, t.Content)
		}
	} else {
		for _, t := range *got.Data {
			add(t.ID, t.Title, t.Content)
		}
	}
	return list, nil
}

// TemplateOf is the template of WeChat's that a message goes by which names so, or none.
func (d *driver) TemplateOf(named string) string {
	if named != "" {
		return named
	}
	return d.template
}
