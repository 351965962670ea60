package channel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
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

// All values that are allowed are named, of more than a few the nearest first.
func TestWantNamesWhatIsNearFirst(t *testing.T) {
	t.Parallel()
	states := []posthouse.State{posthouse.Pending, posthouse.Sent, posthouse.Failed, posthouse.Expired}
	for value, want := range map[posthouse.State]string{
		"pendng": `is "pendng": did you mean pending? Want one of pending, sent, failed, expired`,
		"lost":   `is "lost": want one of pending, sent, failed, expired`,
	} {
		if got := channel.Want(value, states); got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
	if got, want := channel.Want("snt", states[:3]), `is "snt": want one of pending, sent, failed`; got != want {
		t.Errorf("of a few: %s, want %s", got, want)
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
