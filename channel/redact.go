package channel

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Redactor takes secrets and phone numbers out of texts before they reach a log, a page or the
// database. It masks the secrets it was given wherever they stand, also escaped for JSON, URLs and
// XML; the values of names that say secret, such as access_token or Authorization, in
// queries, forms, JSON, XML and headers; and all but the ends of 11-digit numbers. Its texts are
// valid UTF-8 without NUL, which a database refuses. It is safe for concurrent use.
type Redactor struct {
	secrets []string // longest first, so that one that contains another goes whole
}

// shortestSecret keeps a secret such as "1" from masking half of every text.
const shortestSecret = 4

// NewRedactor makes a redactor for some secrets. Those of fewer than four bytes are left out.
func NewRedactor(secrets ...string) *Redactor {
	return new(Redactor).With(secrets...)
}

// With is a redactor that masks some more secrets.
func (r *Redactor) With(secrets ...string) *Redactor {
	if len(secrets) == 0 {
		return r
	}
	r = &Redactor{slices.Clone(r.secrets)}
	for _, s := range secrets {
		if len(s) < shortestSecret {
			continue
		}
		r.secrets = append(r.secrets, s, quoted(s, true), quoted(s, false), url.QueryEscape(s), url.PathEscape(s))
		r.secrets = append(r.secrets, inXML(s)...)
	}
	slices.SortFunc(r.secrets, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	r.secrets = slices.Compact(r.secrets)
	return r
}

// quoted is the inside of a JSON string, as encoders write it that mind HTML or do not.
func quoted(s string, html bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(s) != nil {
		return s
	}
	return strings.TrimSuffix(b.String(), "\"\n")[1:]
}

// quotes are how XML and HTML have a double and a single quote: the first pair is what we write, the
// others are for echoes, and what stands between tags often keeps its quotes.
var quotes = [][2]string{
	{"&#34;", "&#39;"}, {"&quot;", "&apos;"}, {"&quot;", "&#39;"}, {"&quot;", "&#x27;"}, {"&quot;", "&#039;"}, {"&quot;", "'"}, {`"`, "'"},
}

// inXML are the forms of a text in XML and HTML. What XML does not allow becomes U+FFFD.
func inXML(s string) []string {
	s = strings.Map(func(c rune) rune {
		if c < 0x20 && !strings.ContainsRune("\t\n\r", c) || c == 0xFFFE || c == 0xFFFF {
			return utf8.RuneError
		}
		return c
	}, s)
	forms := make([]string, len(quotes))
	for i, q := range quotes {
		forms[i] = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, q[0], "'", q[1]).Replace(s)
	}
	return forms
}

// Text redacts a whole text.
func (r *Redactor) Text(s string) string { return scrub(r.Secrets(s)) }

// Secrets masks the redactor's own secrets only: for what must stay as it is, such as an id of 11 digits.
func (r *Redactor) Secrets(s string) string {
	s = storable(s)
	for _, secret := range r.secrets {
		if strings.Contains(s, secret) {
			s = strings.ReplaceAll(s, secret, Mask)
		}
	}
	return s
}

// Excerpt redacts the beginning of a text and cuts it to max bytes.
func (r *Redactor) Excerpt(s []byte, max int) string {
	return cut(r.Text(string(s[:min(len(s), r.window(max))])), max)
}

// window is how much of a text to look at to show max bytes: a secret at the cut must not show
// its first half.
func (r *Redactor) window(max int) int {
	const phone = 64 // more than a number and its neighbours
	if len(r.secrets) == 0 {
		return max + phone
	}
	return max + phone + len(r.secrets[0])
}

// Line redacts a text and makes one line of at most max bytes of it.
func (r *Redactor) Line(s string, max int) string {
	return oneLine(r.Excerpt([]byte(s), max))
}

// oneLine turns control characters into spaces.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(c rune) rune {
		if control(c) || c == '\u0085' || c == '\u2028' || c == '\u2029' {
			return ' '
		}
		return c
	}, s))
}

func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	end := max
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// scrub masks what looks like a secret or a phone number. It copies only what it must.
func scrub(s string) string {
	var out []byte
	from := 0
	replace := func(start, end int, by string) {
		out = append(append(out, s[from:start]...), by...)
		from = end
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '=' || c == ':' || c == '>':
			if start, end := secretValue(s, i); end > start && start >= from {
				replace(start, end, Mask)
				i = end - 1
			}
		case c >= '0' && c <= '9':
			end := digitsEnd(s, i)
			if n := end - i; n == 11 || n == 13 && s[i:i+2] == "86" {
				replace(end-8, end-4, "****")
			}
			i = end - 1
		}
	}
	if out == nil {
		return s
	}
	return string(append(out, s[from:]...))
}

func digitsEnd(s string, i int) int {
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i
}

// secretValue finds the value that follows the separator at i, if the name before it is a secret's.
func secretValue(s string, i int) (start, end int) {
	name := nameBefore(s, i)
	if !sensitive(name, s[i]) {
		return 0, 0
	}
	start = i + 1
	for start < len(s) && (s[start] == ' ' || s[start] == '\t') {
		start++
	}
	rest := s[start:]
	switch {
	case s[i] == '>':
		return start, start + until(rest, "<")
	case strings.HasPrefix(rest, `\"`):
		return start + 2, start + 2 + until(rest[2:], `\`)
	case strings.HasPrefix(rest, `"`):
		return start + 1, start + 1 + quoteEnd(rest[1:])
	case rest == "" || rest[0] == '{' || rest[0] == '[':
		return 0, 0
	case s[i] == ':' && wholeLine(name):
		return start, start + until(rest, "\r\n")
	}
	return start, start + until(rest, "&\"'<>,;}]) \t\r\n")
}

func until(s, stops string) int {
	if n := strings.IndexAny(s, stops); n >= 0 {
		return n
	}
	return len(s)
}

// quoteEnd is where a JSON string ends that began before s.
func quoteEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(s)
}

// nameBefore is the name that ends right before i, leaving out its quotes and blanks before a colon.
func nameBefore(s string, i int) string {
	end := i
	for end > 0 && strings.IndexByte(" \t\"'\\", s[end-1]) >= 0 {
		end--
	}
	start := end
	for start > 0 && nameByte(s[start-1]) {
		start--
	}
	if s[i] == '>' && (start == 0 || s[start-1] != '<') {
		return ""
	}
	return s[start:end]
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// wholeLine names headers whose value has blanks in it.
func wholeLine(name string) bool {
	return hasSuffixFold(name, "authorization") || hasSuffixFold(name, "cookie")
}

// sensitive reports whether a name is that of a secret. A mere "key" is one in a query only: in
// JSON it is as often a word for anything.
func sensitive(name string, separator byte) bool {
	switch {
	case len(name) < 3:
		return false
	case strings.EqualFold(name, "key"):
		return separator == '='
	case strings.EqualFold(name, "sign"), strings.EqualFold(name, "sig"), strings.EqualFold(name, "pwd"),
		strings.EqualFold(name, "passwd"), strings.EqualFold(name, "ticket"):
		return true
	}
	return slices.ContainsFunc(secretEndings, func(ending string) bool { return hasSuffixFold(name, ending) })
}

var secretEndings = []string{
	"token", "secret", "password", "authorization", "cookie", "signature", "credential",
	"api_key", "api-key", "apikey", "access_key", "access-key", "accesskey",
	"secret_key", "secret-key", "secretkey", "private_key", "private-key", "privatekey",
}

func hasSuffixFold(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}

// storable makes a text fit for every database: valid UTF-8 without NUL.
func storable(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}
