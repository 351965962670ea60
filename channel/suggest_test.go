package channel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/channel"
)

// Letters that changed places are one mistake: nobody counts two.
func TestLettersThatChangedPlacesAreNear(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"strat": {"start"}, "sprng": {"spring"}, "psuse": {"pause"}, "hsow": {"show"}, "atrst": nil, "x": nil,
	} {
		if got := channel.Nearest(name, []string{"start", "spring", "pause", "show"}); !slices.Equal(got, want) {
			t.Errorf("%s: %q are near, want %q", name, got, want)
		}
	}
}

// Few names are all named; of many the nearest are, and where none is near the first twenty.
func TestOneOfNamesWhatIsNear(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("oa%02d", i))
	}
	for name, c := range map[string]struct {
		known []string
		want  string
	}{
		"x":     {nil, "no channels are configured yet"},
		"des":   {[]string{"desk", "oa"}, "the channels are desk, oa"},
		"oa030": {many, "did you mean oa00 or oa03?"},
		"robot": {many, "the channels are " + strings.Join(many[:20], ", ") + ", …"},
	} {
		if got := channel.OneOf("channels", name, c.known); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
