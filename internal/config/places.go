package config

import (
	"fmt"
	"strings"
)

// places reads the servers of places: NAME=URL, with commas between.
func places(to *map[string]string, v string) error {
	out := map[string]string{}
	for part := range strings.SplitSeq(v, ",") {
		name, at, named := strings.Cut(strings.TrimSpace(part), "=")
		if !named || name == "" {
			return fmt.Errorf("%.80q is no NAME=URL, such as a=https://a.posthouse.example", part)
		}
		if _, twice := out[name]; twice {
			return fmt.Errorf("names the place %.80q twice", name)
		}
		var checked string
		if err := address(&checked, at, "http", "https"); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
		out[name] = checked
	}
	*to = out
	return nil
}
