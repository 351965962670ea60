package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// raw is a flag whose text is kept as it was given: Load checks it together with all others.
type raw struct{ text, kind string }

func (r *raw) String() string     { return r.text }
func (r *raw) Set(s string) error { r.text = s; return nil }
func (r *raw) Type() string       { return r.kind }

// AddFlags gives a command the server's settings as flags, or only those named, and --config.
func AddFlags(flags *pflag.FlagSet, only ...string) {
	flags.StringP("config", "c", "", "a `FILE` in YAML with these settings, their names with _ for - [$POSTHOUSE_CONFIG]")
	flags.String("env-file", "", "a `FILE` with variables, in place of .env in the working directory")
	addFlags(flags, serverSettings, only)
}

// AddClientFlags gives a command --url, --key and --env-file.
func AddClientFlags(flags *pflag.FlagSet) {
	addFlags(flags, clientSettings, nil)
	flags.String("env-file", "", "a `FILE` with variables; .env in the working directory is read only when it is named here")
}

func addFlags[T any](flags *pflag.FlagSet, table []setting[T], only []string) {
	for _, s := range table {
		if s.noFlag || len(only) > 0 && !slices.Contains(only, s.name) {
			continue
		}
		value := &raw{kind: "string"}
		if s.toggle {
			value.kind = "bool" // shown without a placeholder
		}
		flag := flags.VarPF(value, s.flag(), "", fmt.Sprintf("%s [$%s]", s.help, strings.Join(s.variables(), ", $")))
		flag.DefValue = s.def
		if s.toggle {
			flag.NoOptDefVal = "true"
		}
	}
}

// Variables lists, one a line, the settings that can be given by variable and file only.
func Variables() string {
	var out string
	for _, s := range serverSettings {
		if s.noFlag {
			out += fmt.Sprintf("  %s  %s\n", strings.Join(s.variables(), ", "), pflagText(s.help))
		}
	}
	return out
}

// pflagText is a help text without the backquotes of its placeholder.
func pflagText(help string) string {
	_, usage := pflag.UnquoteUsage(&pflag.Flag{Usage: help, Value: &raw{kind: "string"}})
	return usage
}
