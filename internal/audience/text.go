package audience

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"
)

// Encoding is how a file's characters are written.
type Encoding string

// The encodings.
const (
	UTF8 Encoding = "utf-8"
	GBK  Encoding = "gbk" // as its superset GB18030
)

// Valid reports whether it is one of them.
func (e Encoding) Valid() bool { return e == UTF8 || e == GBK }

// fromGBK converts a text. ok is false where it is none.
func fromGBK(b []byte) (text []byte, ok bool) {
	out, err := simplifiedchinese.GB18030.NewDecoder().Bytes(b)
	return out, err == nil && !bytes.ContainsRune(out, utf8.RuneError)
}

// Text is a file that is read whole, in UTF-8: of UTF-16, which a mark at its beginning tells, and of what is GBK and no UTF-8. All else, also
// what is none of them, stays as it is.
func Text(file []byte) []byte {
	if text, err := io.ReadAll(inUTF8(io.NopCloser(bytes.NewReader(file)))); err == nil {
		file = text
	}
	if utf8.Valid(file) {
		return file
	}
	if text, ok := fromGBK(file); ok {
		return text
	}
	return file
}

// columnOf is the column of what follows a text in its line, from 1, in characters.
func columnOf(before []byte) int64 { return int64(utf8.RuneCount(before)) + 1 }

// maxExcerpt bounds what is kept of a record that was refused, in bytes.
const maxExcerpt = 200

// excerpt is the beginning of a record for a person: text that every database and terminal can take.
func excerpt(rec []byte) string {
	cut := rec[:min(len(rec), maxExcerpt)]
	for len(cut) < len(rec) && len(cut) > 0 && !utf8.RuneStart(rec[len(cut)]) {
		cut = cut[:len(cut)-1]
	}
	text := strings.ToValidUTF8(string(cut), "�")
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// badAt is the place of the first byte that is not UTF-8.
func badAt(b []byte) int {
	for at := 0; at < len(b); {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return len(b)
}
