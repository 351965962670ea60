package shell

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/catalog"
)

// language is the value of --lang.
type language string

// languages are those that texts are said in.
var languages = []string{"en", "zh"}

func (l *language) String() string { return string(*l) }
func (l *language) Type() string   { return "LANGUAGE" }

func (l *language) Set(text string) error {
	if !slices.Contains(languages, text) {
		return fmt.Errorf("is %q: want en or zh", text)
	}
	*l = language(text)
	return nil
}

// Overhear looks for --json and --lang among arguments that could not be read to their end: a wrong flag ends the reading of flags.
func (sh *Shell) Overhear(args []string) {
	for i, arg := range args {
		value, joined := strings.CutPrefix(arg, "--lang=")
		switch {
		case arg == "--":
			return
		case arg == "--json", arg == "--json=true":
			sh.JSON = true
		case arg == "--lang" && i+1 < len(args):
			_ = sh.lang.Set(args[i+1]) // one that is wrong says nothing: another mistake is told
		case joined:
			_ = sh.lang.Set(value)
		}
	}
}

// AddLang adds --lang.
func (sh *Shell) AddLang(flags *pflag.FlagSet) {
	flags.Var(&sh.lang, "lang", "the `LANGUAGE` of errors and reasons: en or zh (default as LC_ALL, LC_MESSAGES or LANG say)")
}

// chinese reports whether --lang, or else the environment, asks for Chinese. Of the environment the first that is set counts, as POSIX has it.
func (sh *Shell) chinese() bool {
	if sh.lang != "" {
		return sh.lang == "zh"
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		value := ""
		for _, entry := range sh.Environ {
			if v, ok := strings.CutPrefix(entry, name+"="); ok {
				value = v
			}
		}
		if value != "" {
			return strings.HasPrefix(value, "zh")
		}
	}
	return false
}

// Says is a sentence in the person's language, as far as it is known there: an error, a reason, what holds a delivery. JSON stays as it is,
// since programs read it.
func (sh *Shell) Says(text string) string {
	if !sh.chinese() {
		return text
	}
	said, _ := catalog.Error(text)
	return said
}

// Verdict is a sentence of the report of a check in the person's language.
func (sh *Shell) Verdict(text string) string {
	if !sh.chinese() {
		return text
	}
	said, _ := catalog.Verdict(text)
	return said
}

// Either is the one of two texts that is in the person's language: of what says itself in both.
func (sh *Shell) Either(english, chinese string) string {
	if sh.chinese() && chinese != "" {
		return chinese
	}
	return english
}

// Tells is a sentence about what happens in the person's language, with its times in the person's zone.
func (sh *Shell) Tells(text string) string { return catalog.WithTimes(sh.Says(text), sh.At) }

// Event is what an event of a delivery is called in the person's language.
func (sh *Shell) Event(of posthouse.EventType) string {
	if !sh.chinese() {
		return string(of)
	}
	return catalog.Event(string(of))
}

// State is what a state is called in the person's language, where it stands in a line. Tables and fields show its word, by which it is asked for.
func (sh *Shell) State(of string) string {
	if !sh.chinese() {
		return of
	}
	return catalog.State(of)
}

// Lasts is a length of time, to the second or the minute.
func (sh *Shell) Lasts(d time.Duration) string { return catalog.Lasting(d, sh.chinese()) }

// where stands before a problem: a line of a file in the person's language, and else the field as it is typed. Without a path it is of the body.
func (sh *Shell) where(path string) string {
	if path == "" {
		return ""
	}
	if said, ok := catalog.Path(path); ok && sh.chinese() && strings.HasPrefix(path, "line ") {
		return said + "："
	}
	return path + ": "
}

// fails is an error in the person's language, with what it is about before it.
func (sh *Shell) fails(text string) string {
	if !sh.chinese() {
		return text
	}
	said, _ := catalog.Error(text)
	return said
}
