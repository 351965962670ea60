package shell

import (
	"bytes"
	"io"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse/internal/config"
)

// Export writes a list that may be long, in the form that was asked for: --format and --output, or --json.
type Export struct {
	format, output string
	chosen         *pflag.Flag
}

// Describe adds the flags, with what the format is where none is named.
func (x *Export) Describe(flags *pflag.FlagSet, format string) {
	usage := "the `FORM`: csv without formulas, or ndjson"
	if format == "ndjson" {
		usage = "the `FORM`: ndjson, or csv without formulas"
	}
	flags.StringVar(&x.format, "format", format, usage)
	flags.StringVar(&x.output, "output", "", "the `FILE` to write; standard output otherwise")
	x.chosen = flags.Lookup("format")
}

// Write has a list written to a file that is not there yet, or to standard output where none is named.
func (x *Export) Write(sh *Shell, list func(to io.Writer, format string) error) error {
	write := func(to io.Writer) error { return list(to, x.format) }
	switch {
	case sh.JSON && x.chosen.Changed:
		return Usagef("--format stands beside --json, which is a form of its own: give one of them")
	case sh.JSON:
		write = func(to io.Writer) error { return enveloping(to, list) }
	case x.output == "" && sh.Terminal: // it would obey what others wrote
		return Usagef("name a file with --output, or send it through a pipe: it is not for a terminal")
	}
	if x.output == "" {
		return write(sh.Out)
	}
	return NewFile("--output", x.output, write)
}

// enveloping writes a list that comes as lines of JSON in the envelope of all lists, as it comes.
func enveloping(to io.Writer, list func(to io.Writer, format string) error) error {
	e := &envelope{to: to}
	if err := list(e, "ndjson"); err != nil {
		return err
	}
	end := "\n  ]\n}\n"
	if !e.begun {
		end = "{\n  \"items\": []\n}\n"
	}
	_, err := io.WriteString(to, end)
	return err
}

// envelope takes lines of JSON and hands on the items of a list, with nothing in them that a terminal would obey.
type envelope struct {
	to    io.Writer
	line  []byte
	begun bool
}

func (e *envelope) Write(p []byte) (int, error) {
	e.line = append(e.line, p...)
	for {
		line, rest, whole := bytes.Cut(e.line, []byte{'\n'})
		if !whole {
			return len(p), nil
		}
		before := ",\n    "
		if !e.begun {
			before, e.begun = "{\n  \"items\": [\n    ", true
		}
		if _, err := e.to.Write(append([]byte(before), config.PrintableJSON(line)...)); err != nil {
			return 0, err
		}
		e.line = rest
	}
}
