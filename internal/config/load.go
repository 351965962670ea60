package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/joho/godotenv"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
)

// Sources is where settings come from.
type Sources struct {
	// Flags were parsed by the command; those given on its line count. May be nil.
	Flags *pflag.FlagSet
	// Environ is the environment as os.Environ lists it.
	Environ []string
	// Dir is where .env is looked for. Defaults to the working directory.
	Dir string

	clientOnly bool // no YAML file, no warnings
}

// given is one setting's text and where it was written.
type given struct{ text, at string }

// layer holds the settings of one source by name.
type layer map[string]given

// load fills a T from the sources, highest first: flags, environment, .env, YAML. Only the
// text that counts is checked.
func load[T any](table []setting[T], into *T, from Sources) (warnings []string, err error) {
	environ := environment(from.Environ)
	dotenv, problems := readDotenv(from.Dir)
	layers := []layer{
		flagLayer(table, from.Flags),
		variableLayer(table, environ, ""),
		variableLayer(table, dotenv, ".env: "),
	}
	if !from.clientOnly {
		warnings = append(unknown(environ, ""), unknown(dotenv, ".env: ")...)
		file, wrong := readFile(table, configFile(from.Flags, environ, dotenv))
		layers, problems = append(layers, file), append(problems, wrong...)
	}
	for _, s := range table {
		if g, ok := first(layers, s.name); ok && g.text != "" {
			if err := s.parse(into, g.text); err != nil {
				problems = append(problems, posthouse.Problem{Path: g.at, Message: err.Error()})
			}
		}
	}
	return warnings, posthouse.Invalid("the settings can not be used", problems)
}

func first(layers []layer, name string) (given, bool) {
	for _, l := range layers {
		if g, ok := l[name]; ok {
			return g, true
		}
	}
	return given{}, false
}

// flagLayer holds the flags that were given; an empty one counts, and means the default.
func flagLayer[T any](table []setting[T], flags *pflag.FlagSet) layer {
	out := layer{}
	for _, s := range table {
		if flags == nil {
			break
		}
		if f := flags.Lookup(s.flag()); f != nil && f.Changed {
			out[s.name] = given{f.Value.String(), "--" + s.flag()}
		}
	}
	return out
}

// variableLayer holds the variables that are set; an empty one does not count.
func variableLayer[T any](table []setting[T], variables map[string]string, at string) layer {
	out := layer{}
	for _, s := range table {
		for _, name := range s.variables() {
			if v := variables[name]; v != "" {
				out[s.name] = given{v, at + name}
				break
			}
		}
	}
	return out
}

func environment(environ []string) map[string]string {
	out := map[string]string{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			out[name] = value
		}
	}
	return out
}

// readDotenv reads .env where there is one.
func readDotenv(dir string) (map[string]string, []posthouse.Problem) {
	variables, err := godotenv.Read(filepath.Join(dir, ".env"))
	switch {
	case os.IsNotExist(err):
		return nil, nil
	case err != nil: // godotenv quotes the line, which can hold a secret
		return nil, []posthouse.Problem{{Path: ".env", Message: "it can not be read; " + unreadable(err)}}
	}
	return variables, nil
}

func unreadable(err error) string {
	var wrong *fs.PathError
	if errors.As(err, &wrong) {
		return wrong.Err.Error()
	}
	return "each line must be NAME=value, a comment after #, or empty"
}

func configFile(flags *pflag.FlagSet, environ, dotenv map[string]string) string {
	if flags != nil {
		if f := flags.Lookup("config"); f != nil && f.Changed {
			return f.Value.String()
		}
	}
	return cmp.Or(environ[prefix+"CONFIG"], dotenv[prefix+"CONFIG"])
}

// unknown warns of variables that look like ours and are not.
func unknown(variables map[string]string, at string) []string {
	known := []string{prefix + "CONFIG"}
	for _, s := range serverSettings {
		known = append(known, s.variables()...)
	}
	for _, s := range clientSettings {
		known = append(known, s.variables()...)
	}
	slices.Sort(known)
	known = slices.DeleteFunc(slices.Compact(known), func(name string) bool { // client and server share the key's
		return !strings.HasPrefix(name, prefix)
	})
	var out []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		ours := strings.HasPrefix(name, prefix) && !strings.HasPrefix(name, prefix+"TEST_")
		if ours && !slices.Contains(known, name) {
			out = append(out, fmt.Sprintf("%s%s: %s", at, name, channel.UnknownName("variable", name, known)))
		}
	}
	return out
}
