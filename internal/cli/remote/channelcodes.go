package remote

import (
	"maps"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse/internal/cli/shell"
)

// recoded is a driver's config with other classes for some of the provider's codes, CODE=CLASS with commas between. The codes
// that are not named stay as they are; one without a class is forgotten.
func recoded(config map[string]any, text string) (map[string]any, error) {
	codes := map[string]any{}
	if known, ok := config["codes"].(map[string]any); ok {
		maps.Copy(codes, known)
	}
	for _, part := range shell.List(text) {
		code, class, ok := strings.Cut(part, "=")
		switch {
		case !ok || code == "":
			return nil, shell.Usagef("--codes: %s is not of the form CODE=CLASS", strconv.Quote(part))
		case class == "":
			delete(codes, code)
		default:
			codes[code] = class
		}
	}
	out := maps.Clone(config)
	if out == nil {
		out = map[string]any{}
	}
	if out["codes"] = codes; len(codes) == 0 {
		delete(out, "codes")
	}
	return out, nil
}
