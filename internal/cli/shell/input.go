package shell

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/limittext"
)

// Input is what an argument means: the text itself, @FILE, or - for standard input.
func (sh *Shell) Input(arg string) ([]byte, error) {
	if path, ok := strings.CutPrefix(arg, "@"); ok || arg == "-" {
		return sh.ReadFile(path)
	}
	return []byte(arg), nil
}

// ReadFile reads a file, or standard input for "-" and "".
func (sh *Shell) ReadFile(path string) ([]byte, error) {
	if path == "" || path == "-" {
		b, err := io.ReadAll(sh.In)
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return unmarked(b), nil
	}
	b, err := os.ReadFile(path)
	var wrong *os.PathError
	if errors.As(err, &wrong) {
		return nil, Usagef("%s: the file cannot be read; %w", path, wrong.Err)
	}
	return unmarked(b), err
}

// unmarked leaves out the byte order mark that editors of Windows begin a file with.
func unmarked(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\ufeff")) }

// Object reads a JSON object from an argument.
func (sh *Shell) Object(flag, arg string) (json.RawMessage, error) {
	if arg == "" {
		return nil, nil
	}
	b, err := sh.Input(arg)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	var syntax *json.SyntaxError
	if err := json.Unmarshal(b, &fields); errors.As(err, &syntax) {
		return nil, Usagef(`%s: it is not JSON: character %d: %s`, flag, utf8.RuneCount(b[:max(syntax.Offset-1, 0)])+1, limittext.Syntax(b, syntax))
	} else if err != nil {
		return nil, Usagef(`%s: it is not a JSON object such as {"name": "value"}`, flag)
	}
	return b, nil
}

// Moment reads a time: how long from now, or a date and a time of day.
func (sh *Shell) Moment(flag, v string) (time.Time, error) {
	if v == "" {
		return time.Time{}, nil
	}
	var d posthouse.Duration
	if d.UnmarshalText([]byte(strings.TrimPrefix(v, "+"))) == nil {
		return time.Now().Add(d.Std()), nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, v, sh.Location()); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse(time.RFC3339, v); err == nil {
		return t, nil
	}
	return time.Time{}, Usagef(`%s: %q is not a time such as 10m (from now), "2026-10-01 08:30" or 2026-10-01T08:30:00+08:00`, flag, v)
}

// Past reads a time as Moment does, but a duration counts back, and a time of day alone is the last that there was.
func (sh *Shell) Past(flag, v string) (time.Time, error) {
	var d posthouse.Duration
	if d.UnmarshalText([]byte(v)) == nil {
		return time.Now().Add(-d.Std()), nil
	}
	if clock, err := time.Parse("15:04", v); err == nil {
		now := time.Now().In(sh.Location())
		at := time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), 0, 0, now.Location())
		if at.After(now) {
			at = at.AddDate(0, 0, -1)
		}
		return at, nil
	}
	t, err := sh.Moment(flag, v)
	if err != nil {
		return t, Usagef(`%s: %q is not a time such as 2h (ago), "2026-10-01 08:30" or 2026-10-01T08:30:00+08:00`, flag, v)
	}
	return t, nil
}

// Pairs reads arguments of the form NAME=VALUE.
func Pairs(flag string, args []string) (map[string]string, error) {
	out := map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, Usagef("%s: %q is not of the form NAME=VALUE", flag, arg)
		}
		out[name] = value
	}
	return out, nil
}

// List splits a text at commas and leaves blanks out.
func List(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// Words joins a list for people.
func Words(list []string) string { return strings.Join(list, ", ") }
