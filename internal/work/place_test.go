package work

import (
	"testing"
	"time"
)

func TestAHoldingIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, h := range []Holding{{Place: "a", Epoch: 3, Phase: PhaseHeld, Since: time.UnixMicro(5).UTC()}, {Place: "b", Epoch: 4, Phase: PhaseLeaving, From: "a", Since: time.UnixMicro(7).UTC()}} {
		if got, err := ParseHolding(h.Text()); err != nil || got != h {
			t.Errorf("got %+v, %v, want %+v", got, err, h)
		}
	}
	for _, text := range []string{"", "a 3 held 5", "a x held 5 ", "a 3 held x "} {
		if got, err := ParseHolding(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func TestTheNewerEpochBeatsAndThenTheOlderHolder(t *testing.T) {
	t.Parallel()
	early, late := time.UnixMicro(1), time.UnixMicro(2)
	list := []Holding{{"b", 3, PhaseHeld, "", late}, {"a", 2, PhaseHeld, "", early}, {"b", 2, PhaseHeld, "", early}, {"a", 2, PhaseHeld, "", late}}
	for i := range list {
		for j := range list {
			if got := list[i].Beats(list[j]); got != (i < j) {
				t.Errorf("%+v beats %+v: %t", list[i], list[j], got)
			}
		}
	}
}
