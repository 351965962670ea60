package media

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
)

const (
	maxName = 255
	unknown = "application/octet-stream"
)

func wrong(field, format string, args ...any) error {
	return posthouse.Invalid("the file cannot be stored", []posthouse.Problem{{Path: field, Message: fmt.Sprintf(format, args...)}})
}

// TypeOf is the media type of a file whose sender says that it is of a type, empty for nothing said. A picture, a sound or a
// film that is evidently something else is refused: the provider would refuse it after the message was accepted.
func TypeOf(said string, body []byte) (string, error) {
	is := sniffed(body)
	if said == "" || said == unknown {
		return is, nil
	}
	kind, _, err := mime.ParseMediaType(said)
	if err != nil || len(kind) > maxName {
		return "", wrong("type", "is %.80q: want a media type such as image/png", said)
	}
	major, _, _ := strings.Cut(kind, "/")
	switch major {
	case "image":
		if is != kind {
			return "", wrong("type", "is %s, and the file is %s", kind, is)
		}
	case "audio", "video":
		if is != unknown && !strings.HasPrefix(is, "audio/") && !strings.HasPrefix(is, "video/") {
			return "", wrong("type", "is %s, and the file is %s", kind, is)
		}
	}
	return kind, nil
}

// sniffed is what the first bytes say.
func sniffed(body []byte) string {
	if bytes.HasPrefix(body, []byte("#!AMR")) { // what phones record voices in
		return "audio/amr"
	}
	kind, _, _ := strings.Cut(http.DetectContentType(body), ";")
	return kind
}

// NameOf is a name under which a file can be sent: the last part of a path.
func NameOf(given string) (string, error) {
	name := path.Base(strings.ReplaceAll(given, `\`, "/"))
	switch {
	case name == "" || name == "." || name == "/" || name == "..":
		return "file", nil
	case len(name) > maxName:
		return "", wrong("name", "has %d bytes: at most %d are allowed", len(name), maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '"' }):
		return "", wrong("name", "holds characters that no file's name has")
	}
	return name, nil
}
