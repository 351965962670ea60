package state

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/draft"
)

// The store keeps so many bytes of other people's words: its columns take no more. The kit of package
// channel keeps to less; a driver need not use the kit.
const (
	MaxCode    = 255
	MaxRef     = 512
	MaxError   = 4 << 10
	MaxExcerpt = 4 << 10
)

// Fit makes a result one that can be kept: a class that there is, and texts that every database stores.
// One that cannot be stored would keep all others of its batch from being recorded. One that says nothing gets words for it:
// the person who decides about an unknown sees why it is one.
func Fit(r *channel.Result) {
	if !r.Class.Valid() {
		if r.Class = posthouse.ClassUnknown; r.Code == "" && r.Error == "" {
			r.Code, r.Error = "NO_CLASS", "the driver's result does not say what became of it"
		}
	}
	r.Code, r.Ref, r.Error = Plain(r.Code, MaxCode), Plain(r.Ref, MaxRef), Plain(r.Error, MaxError)
	r.Request, r.Response = Plain(r.Request, MaxExcerpt), Plain(r.Response, MaxExcerpt)
}

// Plain is a text of valid UTF-8 without NUL, of at most so many bytes.
func Plain(s string, most int) string {
	s = strings.ToValidUTF8(s[:min(len(s), most)], "")
	return strings.ReplaceAll(s, "\x00", "?")
}

// PlainRunes is a text of at most so many characters that every database keeps.
func PlainRunes(s string, most int) string {
	s = Plain(s, len(s))
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i]
		}
	}
	return s
}

// Document is what a log keeps of a request or an answer: the JSON that it is, where that has at most so many bytes and
// every database reads it; else as much of the text, as a JSON text.
func Document(s string, most int) string {
	if s == "" || len(s) <= most && utf8.ValidString(s) && json.Valid([]byte(s)) && draft.UnkeptJSON([]byte(s)) == "" {
		return s
	}
	quoted, _ := json.Marshal(PlainRunes(s, most)) // a text: cannot fail
	return string(quoted)
}

// Hidden stands for what a provider or an agent said of a sensitive message: it may quote it.
func Hidden(said string) string {
	if said == "" {
		return ""
	}
	return "hidden: the message is sensitive"
}
