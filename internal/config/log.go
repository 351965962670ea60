package config

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/lmittmann/tint"

	"github.com/posthouse/posthouse/channel"
)

// Logger writes lines of JSON, or coloured text on a terminal, in which the secrets of the
// settings are masked and nothing can command a terminal.
func (c Config) Logger(w io.Writer, terminal bool) *slog.Logger {
	clean := cleaner{channel.NewRedactor(c.secrets()...)}
	if c.LogFormat == "json" || c.LogFormat == "" && !terminal {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: c.LogLevel, ReplaceAttr: clean.attr}))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{
		Level: c.LogLevel, ReplaceAttr: clean.attr, NoColor: !terminal, TimeFormat: "15:04:05.000",
	}))
}

// secrets are the texts that no log line may hold.
func (c Config) secrets() []string {
	out := []string{c.Server.AdminKey, c.Server.Keyring, c.Server.SMS.Password}
	for _, address := range []string{c.Server.DSN, c.Server.Redis, c.OTLPEndpoint} {
		if u, err := url.Parse(address); err == nil && u.User != nil {
			password, _ := u.User.Password()
			out = append(out, password)
		}
	}
	return out
}

type cleaner struct{ redactor *channel.Redactor }

// attr cleans every text of a log line, and what is logged as an error or by its String. Durations have their units.
func (c cleaner) attr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(c.text(v))
	case []byte:
		a.Value = slog.StringValue(c.text(string(v)))
	case error:
		a.Value = slog.StringValue(c.text(v.Error()))
	case slog.Level:
	case time.Duration: // with its unit, which a number in JSON does not have
		a.Value = slog.StringValue(v.Round(time.Microsecond).String())
	case fmt.Stringer:
		if a.Value.Kind() == slog.KindAny {
			a.Value = slog.StringValue(c.text(v.String()))
		}
	}
	return a
}

func (c cleaner) text(s string) string { return Printable(c.redactor.Text(s)) }

// Printable is a text with its control characters, those that end a line or paragraph, and those that turn the
// direction of writing, as escapes; a line break becomes \n. Others' texts pass it before a terminal shows them.
func Printable(s string) string {
	if strings.IndexFunc(s, unsafe) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteByte(' ')
		case unsafe(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// PrintableJSON is a JSON or YAML text whose strings hold none of what Printable escapes. Line breaks stay, which are
// its own.
func PrintableJSON(text []byte) []byte {
	commands := func(r rune) bool { return unsafe(r) && r != '\n' }
	if bytes.IndexFunc(text, commands) < 0 {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if commands(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

func unsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}
