package channel

import "time"

// Config is a channel's configuration as Type.Validate decoded it: every field of the type, with
// its default where nothing was given. It never changes, so the maps and lists it hands out are
// to be read only. Asking for a field of another kind, or one the type has not, gives the zero value.
type Config struct {
	values map[string]any
}

// String is the value of a string, text, secret, url or choice field.
func (c Config) String(name string) string { return value[string](c, name) }

// Int is the value of an int field.
func (c Config) Int(name string) int { return value[int](c, name) }

// Bool is the value of a bool field.
func (c Config) Bool(name string) bool { return value[bool](c, name) }

// Duration is the value of a duration field.
func (c Config) Duration(name string) time.Duration { return value[time.Duration](c, name) }

// Map is the value of a map or secrets field.
func (c Config) Map(name string) map[string]string { return value[map[string]string](c, name) }

// List is the value of a list field.
func (c Config) List(name string) []string { return value[[]string](c, name) }

// Has reports whether a field holds anything but its zero value.
func (c Config) Has(name string) bool {
	switch v := c.values[name].(type) {
	case string:
		return v != ""
	case int:
		return v != 0
	case bool:
		return v
	case time.Duration:
		return v != 0
	case map[string]string:
		return len(v) > 0
	case []string:
		return len(v) > 0
	}
	return false
}

func value[T any](c Config, name string) T {
	v, _ := c.values[name].(T)
	return v
}
