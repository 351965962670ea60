// Package catalog has the Chinese of what the server says in English: what is wrong with an input, and what holds a delivery. A sentence is
// found by its English format, out of which the arguments are read: texts that are stored or come from the API are translated as well as
// those that are made now. It is not where sentences are made, and a text that it does not know stays as it is.
package catalog

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Sentence is a format in English, as the code that makes it has it, and what it is in Chinese: {1} stands for its first argument, {1!} for
// that argument in Chinese, as far as that is known, and {1?} for it as the reason of a delivery.
type Sentence struct{ English, Chinese string }

// Sentences are all that are known.
func Sentences() []Sentence {
	return slices.Concat(summaries(), hints(), waits(), channels(), fields(), drivers(), answers(), anyAPI(), sends(), drafts(), schedules(), digests(), recall(), decisions(), requests(), peopleFiles(), campaigns(), campaignSteps(), forms(), findings(), settings(), places(), notified(), proofs(), commands(), refused(), flows(), headings(), others())
}

// Words are what stands in sentences as an argument, and reasons of deliveries. Alone, such a word may be a person's.
func Words() []Sentence { return slices.Concat(words(), kinds(), states(), reasons(), ways(), parts()) }

// maxText bounds a text that is looked at, in bytes.
const maxText = 2000

// Chinese is a sentence in Chinese; false where it is not known.
func Chinese(text string) (string, bool) { return find(sentences(), text) }

// Error translates an error: a sentence, and before its colon what the error is about, as in "--at: …". It translates the longest part that it
// knows and keeps the rest. Of several in a line it translates each, where it knows all. Errors quote what people type: a text of many colons stays as it is.
func Error(text string) (string, bool) {
	if strings.Count(text, colon) > mostColons || len(text) > maxText {
		return text, false
	}
	about, rest, ok := strings.Cut(text, colon)
	flag := strings.HasPrefix(about, "--") && !strings.Contains(about, " ")
	if ok && (flag || field.MatchString(about) || argument.MatchString(about)) {
		if said, known := Error(rest); known || flag {
			return about + "：" + said, known
		}
	}
	if said, ok := Chinese(text); ok {
		if strings.Contains(said, between) { // its argument may be the beginning of one and the end of another
			if all, ok := several(text); ok {
				return all, true
			}
		}
		return said, true
	}
	if at, rest, _ := strings.Cut(text, " "); field.MatchString(at) { // as in "content.text is required"
		if said, ok := Chinese(rest); ok {
			return at + " " + said, true
		}
	}
	if !ok {
		return several(text)
	}
	if said, ok := Error(rest); ok { // it has looked behind each later colon
		return inside(about) + "：" + said, true
	}
	for at := len(about); ; {
		if said, ok := Chinese(text[:at]); ok {
			return said + "：" + text[at+len(colon):], true
		}
		next := strings.Index(text[at+len(colon):], colon)
		if next < 0 {
			return text, false
		}
		at += len(colon) + next
	}
}

// several translates errors that stand in one line, if each of them is known.
func several(text string) (string, bool) {
	list := strings.Split(text, between)
	if len(list) == 1 || len(list) > mostColons {
		return text, false
	}
	for i, one := range list {
		said, ok := Error(one)
		if !ok {
			return text, false
		}
		list[i] = said
	}
	return strings.Join(list, "；"), true
}

// argument is what the help calls one of a command.
var argument = regexp.MustCompile(`^[A-Z]{2,}$`)

// field is the path of a field; people name variables in their language.
var field = regexp.MustCompile(`^[a-z_]+(?:[.\[][\p{L}\p{N}_\]-]+)+$`)

const (
	colon      = ": " // stands between what an error is about and the error
	between    = "; " // stands between errors
	mostColons = 12
)

// Reason is the reason of a delivery in Chinese, as it is where it is not known. A word such as recipient says more there than within a sentence.
func Reason(code string) string {
	for _, s := range codes() {
		if s.English == code {
			return s.Chinese
		}
	}
	word, _ := find(alone(), code)
	return word
}

// Reasons are the reasons of deliveries that are known, each with its word. No two have the same word.
func Reasons() []Sentence { return slices.Concat(codes(), classes(), reasons()) }

// ReasonPlain is the reason of a delivery in plain English where its code does not say what it means, and the code for all others.
func ReasonPlain(code string) string {
	return cmp.Or(plain()[code], code)
}

// plain are the words of reasons whose codes do not say what they mean.
func plain() map[string]string {
	return map[string]string{"no_retry": "the agent says that a repeat is useless"}
}

// ReasonOf is the reason whose word is a text, in Chinese or plain English, or the text where it is the word of none: a reason of a rule or a driver is anything.
func ReasonOf(word string) string {
	for code, text := range plain() {
		if text == word {
			return code
		}
	}
	for _, s := range Reasons() {
		if s.Chinese == word {
			return s.English
		}
	}
	return word
}

// find is a text in Chinese by the first of the patterns that fits it. One that begins with an argument comes last where that argument has a
// colon: a shorter sentence stands before it, as in "It waits: a.example answered HTTP 503 ."
func find(list []pattern, text string) (string, bool) {
	if text == "" || len(text) > maxText {
		return text, false
	}
	last := ""
	for _, p := range list {
		args, ok := p.match(text, 0)
		switch {
		case !ok:
		case p.pieces[0] != "" || !strings.Contains(args[0], colon):
			return p.fill(args), true
		case last == "":
			last = p.fill(args)
		}
	}
	return cmp.Or(last, text), last != ""
}

// pattern is a sentence taken apart: a piece of text before each verb, and one behind the last.
type pattern struct {
	pieces  []string
	verbs   []byte
	chinese string
	weight  int // how many bytes stand still
}

// verb is one of a format.
var verb = regexp.MustCompile(`%[-+ #0]*[\d]*(?:\.\d+)?([a-zA-Z%])`)

// sentences and alone are the sentences and the words as patterns, the most telling first.
var (
	sentences = sync.OnceValue(func() []pattern { return compiled(Sentences()) })
	alone     = sync.OnceValue(func() []pattern { return compiled(Words()) })
)

func compiled(list []Sentence) (out []pattern) {
	for _, s := range list {
		out = append(out, patternOf(s))
	}
	slices.SortStableFunc(out, func(a, b pattern) int { return b.weight - a.weight })
	return out
}

func patternOf(s Sentence) pattern {
	p := pattern{chinese: s.Chinese}
	rest, piece := s.English, ""
	for {
		at := verb.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		piece += rest[:at[0]]
		kind := rest[at[2]]
		rest = rest[at[1]:]
		if kind == '%' {
			piece += "%"
			continue
		}
		p.pieces, p.verbs, piece = append(p.pieces, piece), append(p.verbs, kind), ""
	}
	p.pieces = append(p.pieces, piece+rest)
	for _, one := range p.pieces {
		p.weight += len(one)
	}
	return p
}

// match reads the arguments from the piece of a number on out of a text.
func (p *pattern) match(text string, from int) ([]string, bool) {
	rest, ok := strings.CutPrefix(text, p.pieces[from])
	if !ok {
		return nil, false
	}
	if from == len(p.verbs) {
		return nil, rest == ""
	}
	for _, n := range p.ends(rest, from) {
		if more, ok := p.match(rest[n:], from+1); ok {
			return append([]string{rest[:n]}, more...), true
		}
	}
	return nil, false
}

// ends are where the argument of a verb may end in a text.
func (p *pattern) ends(text string, at int) (list []int) {
	switch p.verbs[at] {
	case 'd':
		if n := len(text) - len(strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsDigit(r) || r == '-' })); n > 0 {
			return []int{n}
		}
		return nil
	case 'q':
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return nil
		}
		return []int{len(quoted)}
	}
	next := p.pieces[at+1]
	if next == "" {
		return []int{len(text)}
	}
	for n := 0; ; {
		i := strings.Index(text[n:], next)
		if i < 0 {
			return list
		}
		list = append(list, n+i)
		n += i + 1
	}
}

// inside is an argument in Chinese, as far as it is known: a sentence, where something is, or a word.
func inside(arg string) string {
	if said, ok := Chinese(arg); ok {
		return said
	}
	if said, ok := Path(arg); ok {
		return said
	}
	word, _ := find(alone(), arg)
	return word
}

// place is where an argument stands in Chinese.
var place = regexp.MustCompile(`\{(\d)([!?、]?)\}`)

// fill is the Chinese with the arguments of a text.
func (p *pattern) fill(args []string) string { return p.fillBy(args, inside) }

// fillBy is fill, where inside says what an argument is in Chinese.
func (p *pattern) fillBy(args []string, inside func(string) string) string {
	return place.ReplaceAllStringFunc(p.chinese, func(at string) string {
		n := int(at[1] - '1')
		if n >= len(args) {
			return ""
		}
		arg := args[n]
		switch rest := at[2:]; rest[0] {
		case '!':
			arg = inside(arg)
		case "、"[0]: // a list
			arg = strings.NewReplacer(", ", "、", " or ", " 或 ", " and ", " 和 ").Replace(arg)
		case '?':
			if word := Reason(arg); word != arg {
				return word
			}
			arg = inside(arg)
		}
		return arg
	})
}
