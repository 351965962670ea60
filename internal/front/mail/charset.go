package mail

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/emersion/go-message"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// encodingOf is the encoding of a name. GB18030 stands for those that it contains: senders call theirs GB2312 and write more than that has.
func encodingOf(name string) (encoding.Encoding, error) {
	e, err := htmlindex.Get(strings.Trim(name, ` "'`))
	if err != nil {
		return nil, err
	}
	if is, err := htmlindex.Name(e); err == nil && is == "gbk" {
		return simplifiedchinese.GB18030, nil
	}
	return e, nil
}

// decoded is a text in UTF-8. One whose encoding is not said, or said wrongly, is UTF-8 where that fits, or else GB18030; HTML may say
// within itself what it is.
func (l *letter) decoded(body []byte, name string, html bool) string {
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	if html && name == "" {
		if _, is, certain := charset.DetermineEncoding(body, "text/html"); certain {
			name = is
		}
	}
	switch strings.ToLower(name) {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		return guessed(body)
	}
	e, err := encodingOf(name)
	if err != nil {
		l.in.Note(fmt.Sprintf("the charset %.40q is not known: it is read as UTF-8 or GB18030", name))
		return guessed(body)
	}
	text, err := e.NewDecoder().Bytes(body)
	if err != nil {
		return guessed(body)
	}
	return string(text)
}

// guessed is a text of UTF-8 or, where it is not, of GB18030; of neither, what is wrong is replaced.
func guessed(body []byte) string {
	if !utf8.Valid(body) {
		if text, err := simplifiedchinese.GB18030.NewDecoder().Bytes(body); err == nil && !bytes.ContainsRune(text, utf8.RuneError) {
			return string(text)
		}
	}
	return strings.ToValidUTF8(string(body), "\uFFFD")
}

// words decodes what stands encoded in headers (RFC 2047).
var words = mime.WordDecoder{CharsetReader: func(name string, from io.Reader) (io.Reader, error) {
	e, err := encodingOf(name)
	if err != nil {
		return nil, err
	}
	return e.NewDecoder().Reader(from), nil
}}

// decodeWords is a text of a header. What cannot be decoded stays as it is.
func decodeWords(text string) string {
	decoded, err := words.DecodeHeader(text)
	if err != nil {
		decoded = text
	}
	return guessed([]byte(decoded))
}

func header(h *message.Header, name string) string { return decodeWords(h.Get(name)) }
