package config

import (
	"cmp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/wire"
)

// Sources is where settings come from.
type Sources struct {
	// Flags were parsed by the command; those given on its line count. May be nil.
	Flags *pflag.FlagSet
	// Environ is the environment as os.Environ lists it.
	Environ []string
	// Dir is where .env is looked for, unless the flag --env-file names another file. Defaults to the working
	// directory.
	Dir string

	// clientOnly reads no YAML file and no .env that was not asked for, and warns of nothing. A .env that happens
	// to lie in the working directory must not say where the environment's key is sent.
	clientOnly bool
}

// given is one setting's text and where it was written.
type given struct{ text, at string }

// layer holds the settings of one source by name.
type layer map[string]given

// load fills a T from the sources, highest first: flags, environment, .env, YAML. Only the
// text that counts is checked.
func load[T any](table []setting[T], into *T, from Sources) (warnings []string, inForce []wire.ServerSetting, err error) {
	environ := environment(from.Environ)
	dotenv, problems := readDotenv(from)
	layers := []layer{
		flagLayer(table, from.Flags),
		variableLayer(table, environ, ""),
		variableLayer(table, dotenv.variables, dotenv.at),
	}
	problems = append(problems, readSecrets(table, layers[1], environ, "")...)
	problems = append(problems, readSecrets(table, layers[2], dotenv.variables, dotenv.at)...)
	if !from.clientOnly {
		file, wrong := readFile(table, configFile(from.Flags, environ, dotenv.variables))
		layers, problems = append(layers, file), append(problems, wrong...)
		theirs := postgresLayer(layers, environ, dotenv)
		layers = append(layers, theirs)
		warnings = append(unknown(environ, ""), unknown(dotenv.variables, dotenv.at)...)
		warnings = append(warnings, foreign(environ, dotenv, len(theirs) > 0)...)
	}
	for _, s := range table {
		g, layer, ok := first(layers, s.name)
		if ok && g.text != "" {
			if err := s.parse(into, g.text); err != nil {
				problems = append(problems, posthouse.Problem{Path: g.at, Message: err.Error()})
			}
		}
		inForce = append(inForce, s.inForce(g, layer))
	}
	return warnings, inForce, posthouse.Invalid("the settings cannot be used", problems)
}

// sources are those of the layers in their order; behind them stand the variables that other programs read.
var sources = []wire.SettingSource{wire.SettingByFlag, wire.SettingByVariable, wire.SettingByEnvFile, wire.SettingByFile, wire.SettingByVariable}

// inForce is the setting as it holds where a layer gives it so.
func (s setting[T]) inForce(g given, layer int) wire.ServerSetting {
	out := wire.ServerSetting{Name: s.name, Value: s.def, Source: wire.SettingByDefault, Secret: s.secret, Help: pflagText(s.help)}
	if g.text != "" {
		out.Value, out.Source, out.At = g.text, sources[layer], g.at
	}
	if s.toggle && out.Value == "" {
		out.Value = "false"
	}
	if s.secret && out.Source != wire.SettingByDefault {
		out.Value = channel.Mask
	}
	return out
}

// first is what the highest layer says that names a setting, and which layer that is.
func first(layers []layer, name string) (g given, at int, ok bool) {
	for i, l := range layers {
		if g, ok := l[name]; ok {
			return g, i, true
		}
	}
	return given{}, 0, false
}

// flagLayer holds the flags that were given; an empty one counts, and means the default. A command's own flag may have the name
// of a setting.
func flagLayer[T any](table []setting[T], flags *pflag.FlagSet) layer {
	out := layer{}
	for _, s := range table {
		if flags == nil {
			break
		}
		f := flags.Lookup(s.flag())
		if f == nil || !f.Changed {
			continue
		}
		if _, ours := f.Value.(*raw); ours {
			out[s.name] = given{f.Value.String(), "--" + s.flag()}
		}
	}
	return out
}

// variableLayer holds the variables that are set; an empty one does not count.
func variableLayer[T any](table []setting[T], variables map[string]string, at string) layer {
	out := layer{}
	for _, s := range table {
		for _, name := range append([]string{s.variable()}, s.also...) {
			if v := variables[name]; v != "" {
				out[s.name] = given{v, at + name}
				break
			}
		}
		if v := variables[s.minutes]; s.minutes != "" && v != "" && out[s.name].at == "" {
			out[s.name] = given{inMinutes(v), at + s.minutes}
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

func configFile(flags *pflag.FlagSet, environ, dotenv map[string]string) string {
	if path, given := flagText(flags, "config"); given {
		return path
	}
	return cmp.Or(environ[prefix+"CONFIG"], dotenv[prefix+"CONFIG"])
}

func flagText(flags *pflag.FlagSet, name string) (text string, given bool) {
	if flags == nil {
		return "", false
	}
	f := flags.Lookup(name)
	if f == nil || !f.Changed {
		return "", false
	}
	return f.Value.String(), true
}
