package overlay

import (
	"os/exec"
	"strings"
	"testing"
)

func TestBuildChangesTheProgramAndNotTheTree(t *testing.T) {
	t.Parallel()
	path := Build(t,
		Edit{File: "cmd/posthouse/main.go", Old: "var version, commit, date string", New: "var version, commit, date string = overlaid, \"\", \"\""},
		Edit{File: "cmd/posthouse/zz_overlaid.go", New: "package main\n\nconst overlaid = \"seeded\"\n"},
	)
	out, err := exec.CommandContext(t.Context(), path, "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "seeded") {
		t.Errorf("version of the edited program: got %s, %v, want it to say seeded", out, err)
	}
}

func TestAnEditWhoseTextIsGoneIsAnError(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"gone": "func g() {}", "twice": "f() f()"} {
		if _, err := (Edit{File: "x.go", Old: "f()", New: "h()"}).apply(text); err == nil {
			t.Errorf("%s: the edit was applied to %q", name, text)
		}
	}
}
