package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/draft"
)

// hashOf is the hash of a body that read has taken: two that say the same have the same.
func hashOf(text []byte) string {
	h := sha256.New()
	canonical(text, func(part []byte) { h.Write(part) })
	return hex.EncodeToString(h.Sum(nil))
}

// canonical gives a JSON text in its one form, a part at a time: with sorted keys and without spaces, each string written in
// one way, numbers as they stand. Of a key that stands twice the last counts. Hashes of it are kept in the database, so it
// stays what encoding/json writes of the text's values; to make these first takes fifty times the memory.
func canonical(text []byte, to func(part []byte)) {
	f := formWriter{scanner: scanner{text: text}, to: to}
	f.value()
	to(f.out)
}

// formWriter goes over a valid JSON text and writes its canonical form.
type formWriter struct {
	scanner scanner
	out     []byte // not passed on yet
	to      func(part []byte)
	members []member // of the objects that are open, innermost last
}

// member is a key as it is meant, and where in the text it stands.
type member struct {
	key []byte
	at  int
}

// enough is how much of the form is passed on at once, in bytes.
const enough = 32 << 10

func (f *formWriter) write(part ...byte) {
	f.out = append(f.out, part...)
	if len(f.out) >= enough {
		f.to(f.out)
		f.out = f.out[:0]
	}
}

func (f *formWriter) value() {
	w := &f.scanner
	w.space()
	from := w.at
	switch w.text[w.at] {
	case '{':
		f.object()
	case '[':
		f.list()
	case '"':
		f.quote(w.quoted())
	default:
		w.word()
		f.write(w.text[from:w.at]...)
	}
}

func (f *formWriter) list() {
	w := &f.scanner
	f.write('[')
	w.at++
	for w.space(); w.text[w.at] != ']'; w.space() {
		if w.text[w.at] == ',' {
			w.at++
			f.write(',')
		}
		f.value()
	}
	w.at++
	f.write(']')
}

// object looks where the members are, and then goes through them in order.
func (f *formWriter) object() {
	w := &f.scanner
	opened := len(f.members)
	w.at++
	for w.space(); w.text[w.at] != '}'; w.space() {
		if w.text[w.at] == ',' {
			w.at++
			w.space()
		}
		if len(f.members) == cap(f.members) {
			f.members = slices.Grow(f.members, max(len(f.members), 16)) // append would grow a long list by little and often
		}
		m := member{at: w.at}
		m.key = unquoted(w.quoted())
		f.members = append(f.members, m)
		w.space()
		w.at++ // the colon
		w.skip()
	}
	end := w.at + 1
	list := f.members[opened:]
	slices.SortStableFunc(list, func(a, b member) int { return bytes.Compare(a.key, b.key) })
	before := byte('{')
	for i, m := range list {
		if i+1 < len(list) && bytes.Equal(m.key, list[i+1].key) {
			continue
		}
		f.write(before)
		before = ','
		w.at = m.at
		f.quote(w.quoted())
		f.write(':')
		w.space()
		w.at++
		f.value()
	}
	if before == '{' {
		f.write(before)
	}
	f.write('}')
	f.members, w.at = f.members[:opened], end
}

// The letters after a backslash, and their meaning.
const (
	escapeLetters = `bfnrt"\/`
	escapeMeaning = "\b\f\n\r\t\"\\/"
)

// neverPlain are the characters that encoding/json writes as \u, besides control characters: for the sake of HTML and
// JavaScript.
const neverPlain = "<>&\u2028\u2029"

// quote writes a string, given with its quotes.
func (f *formWriter) quote(quoted []byte) {
	f.write('"')
	for s := quoted[1 : len(quoted)-1]; len(s) > 0; {
		plain := bytes.IndexAny(s, `\`+neverPlain)
		if plain < 0 {
			plain = len(s)
		}
		f.write(s[:plain]...)
		if s = s[plain:]; len(s) > 0 {
			var r rune
			r, s = firstRune(s)
			f.rune(r)
		}
	}
	f.write('"')
}

// firstRune is what the inside of a string begins with, and the rest. Half of a surrogate pair is no character.
func firstRune(s []byte) (rune, []byte) {
	if s[0] != '\\' {
		r, n := utf8.DecodeRune(s)
		return r, s[n:]
	}
	if s[1] != 'u' {
		return rune(escapeMeaning[strings.IndexByte(escapeLetters, s[1])]), s[2:]
	}
	r, rest := draft.Escaped(s[2:]), s[6:]
	if !utf16.IsSurrogate(r) {
		return r, rest
	}
	if bytes.HasPrefix(rest, []byte(`\u`)) {
		if pair := utf16.DecodeRune(r, draft.Escaped(rest[2:])); pair != utf8.RuneError {
			return pair, rest[6:]
		}
	}
	return utf8.RuneError, rest
}

func (f *formWriter) rune(r rune) {
	const hex = "0123456789abcdef"
	if i := strings.IndexRune(escapeMeaning, r); i >= 0 && r != '/' {
		f.write('\\', escapeLetters[i])
	} else if r < ' ' || strings.ContainsRune(neverPlain, r) {
		f.write('\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15])
	} else {
		f.out = utf8.AppendRune(f.out, r)
	}
}
