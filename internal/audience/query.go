package audience

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/posthouse/posthouse"
)

// FormatOf reads from a query how a file is to be read, and says what is wrong with that.
func FormatOf(q url.Values) (f Format, problems []posthouse.Problem) {
	refuse := func(name, format string, args ...any) {
		problems = append(problems, posthouse.Problem{Path: "query." + name, Message: fmt.Sprintf(format, args...)})
	}
	f = Format{Kind: Kind(q.Get("format")), Delimiter: q.Get("delimiter"), Address: q.Get("address"), Encoding: Encoding(q.Get("encoding")), Sheet: q.Get("sheet")}
	if f.Kind != "" && f.Kind != CSV && f.Kind != NDJSON {
		refuse("format", "is %.60q: want csv or ndjson", f.Kind)
	}
	if f.Encoding != "" && !f.Encoding.Valid() {
		refuse("encoding", "is %.60q: want %s or %s", f.Encoding, UTF8, GBK)
	}
	if d := f.Delimiter; d != "" && (len(d) > 1 || d[0] == '"' || d[0] == '\n' || d[0] == '\r' || d[0] >= 0x80) {
		refuse("delimiter", "is %.60q: want one character of ASCII that is no quote and no line's end", d)
	}
	if text := q.Get("columns"); text != "" {
		f.Columns = strings.Split(text, ",")
	}
	return f, problems
}
