package preset

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/posthouse/posthouse/channel"
)

// Change is a setting that a preset sees otherwise than a channel has it.
type Change struct{ Field, Was, Is string }

// Difference is what would change in the configuration of a channel, as it is shown, if it were made of the preset anew. Values and
// secrets stay; a field that the channel has no value for is among the changes.
func (p *Preset) Difference(config map[string]any) (list []Change) {
	fresh, problems := p.Fill(nil, config)
	was, is := flat(config), flat(fresh)
	for _, one := range problems {
		is[one.Path[len("config."):]] = one.Message
	}
	names := maps.Clone(was)
	maps.Copy(names, is)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if _, stays := is[name]; stays && was[name] == channel.Mask {
			continue // a header of the channel, which is shown to nobody
		}
		if was[name] != is[name] {
			list = append(list, Change{name, was[name], is[name]})
		}
	}
	return list
}

// flat are the settings of a configuration as texts, the members of a map each by itself. What stands for its default is left out.
func flat(config map[string]any) map[string]string {
	out := map[string]string{}
	for name, value := range config {
		if members, ok := value.(map[string]any); ok {
			for member, value := range members {
				out[name+"."+member] = written(value)
			}
			continue
		}
		if text := written(value); text != "" && text != "[]" {
			out[name] = text
		}
	}
	return out
}

// written is a value as it is typed.
func written(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	b, err := json.Marshal(v)
	if err != nil || string(b) == "null" {
		return ""
	}
	return string(b)
}
