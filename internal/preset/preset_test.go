package preset

import (
	"testing"
)

func TestEachPresetSendsAndReadsWhatItsShapesSay(t *testing.T) {
	t.Parallel()
	list, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			if len(p.Unverified) != len(p.UnverifiedZH) {
				t.Error("what is not verified does not stand in both languages")
			}
			for _, wrong := range p.Try() {
				t.Errorf("%s: %s", wrong.Path, wrong.Message)
			}
		})
	}
}
