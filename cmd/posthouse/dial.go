package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/config"
)

// calling gives a command, or all of a group, the flags that say which server it calls.
func calling(cmd *cobra.Command) *cobra.Command {
	config.AddClientFlags(cmd.PersistentFlags())
	return cmd
}

// dial makes the client of a command's server.
func (p *program) dial(cmd *cobra.Command) (*client.Client, error) {
	c, err := config.LoadClient(p.sources(cmd))
	if err != nil {
		return nil, usagef("%w", err)
	}
	out, err := client.New(client.Options{URL: c.URL, Key: c.Key})
	if err != nil {
		return nil, usagef("%w", err)
	}
	return out, nil
}

// input is what an argument means: the text itself, @FILE, or - for standard input.
func (p *program) input(arg string) ([]byte, error) {
	if path, ok := strings.CutPrefix(arg, "@"); ok || arg == "-" {
		return p.readFile(path)
	}
	return []byte(arg), nil
}

// readFile reads a file, or standard input for "-" and "".
func (p *program) readFile(path string) ([]byte, error) {
	if path == "" || path == "-" {
		b, err := io.ReadAll(p.in)
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return b, nil
	}
	b, err := os.ReadFile(path)
	var wrong *os.PathError
	if errors.As(err, &wrong) {
		return nil, usagef("%s: the file can not be read; %w", path, wrong.Err)
	}
	return b, err
}

// object reads a JSON object from an argument.
func (p *program) object(flag, arg string) (json.RawMessage, error) {
	if arg == "" {
		return nil, nil
	}
	b, err := p.input(arg)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	var syntax *json.SyntaxError
	if err := json.Unmarshal(b, &fields); errors.As(err, &syntax) {
		return nil, usagef(`%s: it is not JSON: character %d: %w`, flag, syntax.Offset, err)
	} else if err != nil {
		return nil, usagef(`%s: it is not a JSON object such as {"name": "value"}`, flag)
	}
	return b, nil
}

// moment reads a time: how long from now, or a date and a time of day.
func moment(flag, v string) (time.Time, error) {
	if v == "" {
		return time.Time{}, nil
	}
	var d posthouse.Duration
	if d.UnmarshalText([]byte(strings.TrimPrefix(v, "+"))) == nil {
		return time.Now().Add(d.Std()), nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, v, time.Local); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse(time.RFC3339, v); err == nil {
		return t, nil
	}
	return time.Time{}, usagef(`%s: %q is not a time such as 10m (from now), "2026-10-01 08:30" or 2026-10-01T08:30:00+08:00`, flag, v)
}

// pairs reads arguments of the form NAME=VALUE.
func pairs(flag string, args []string) (map[string]string, error) {
	out := map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usagef("%s: %q is not of the form NAME=VALUE", flag, arg)
		}
		out[name] = value
	}
	return out, nil
}

// list splits a text at commas and leaves blanks out.
func list(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func words(list []string) string { return strings.Join(list, ", ") }
