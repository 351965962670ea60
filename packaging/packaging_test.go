package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAnArchiveIsReadBackWholeAndIsTheSameTwice(t *testing.T) {
	t.Parallel()
	entries := []entry{{name: "a/", mode: 0o755}, {name: "a/text", mode: 0o640, text: bytes.Repeat([]byte("text "), 5000), own: 7}}
	pack := func() []byte {
		text, err := tarOf(entries, time.Unix(1_700_000_000, 0))
		if err == nil {
			text, err = zipped(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	packed := pack()
	if !bytes.Equal(packed, pack()) {
		t.Error("the same entries make other bytes")
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	for _, want := range entries {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil || h.Name != want.name || h.Mode != want.mode || h.Uid != want.own || !bytes.Equal(text, want.text) {
			t.Errorf("%s is %s, mode %o, of %d, %d bytes, %v", want.name, h.Name, h.Mode, h.Uid, len(text), err)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("behind the last: %v", err)
	}
	if _, err := io.Copy(io.Discard, z); err != nil {
		t.Errorf("the end: %v", err)
	}
}

func TestTheNotesAreTheVersionsSection(t *testing.T) {
	t.Parallel()
	log := "# Changelog\n\n## Unreleased\n\n- new\n\n## [0.2.0] - 2027-01-01\n\n- two\n\n## [0.1.0] - 2026-12-01\n\n- one\n"
	for version, want := range map[string]string{
		"0.2.0": "## [0.2.0] - 2027-01-01\n\n- two\n\n", "0.1.0": "## [0.1.0] - 2026-12-01\n\n- one\n", "0.3.0-dev+1234": "## Unreleased\n\n- new\n\n",
	} {
		if got := section(log, version); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}

// Another Go compiles and packs other bytes: what it makes nobody can compare.
func TestAnotherGoThanTheNamedOneMakesNothing(t *testing.T) {
	t.Parallel()
	if got := toolchain(".."); !strings.HasPrefix(got, "go1.") || strings.Count(got, ".") != 2 {
		t.Errorf("go.mod names %q, want a whole version", got)
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module x\n\ngo 1.26.0\n\ntoolchain go1.26.999\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := release{root: root, out: filepath.Join(root, "dist"), version: "1.2.3", commit: "c", at: time.Unix(1_700_000_000, 0)}
	if err := r.make(platforms); err == nil || !strings.Contains(err.Error(), "go.mod names go1.26.999") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(r.out); !os.IsNotExist(err) {
		t.Errorf("it has begun: %v", err)
	}
}

func TestATagHasNoPlus(t *testing.T) {
	t.Parallel()
	if got := imageTag("0.1.0-dev+1d3de335"); got != "0.1.0-dev_1d3de335" {
		t.Error(got)
	}
}

// Helm takes a chart whose version is the release's; compose its file with the script beside it, which can be run; and nobody gets the secrets of who tried it.
func TestWhatServersAreSetUpWithIsPacked(t *testing.T) {
	t.Parallel()
	r := release{root: "..", out: t.TempDir(), version: "1.2.3", at: time.Unix(1_700_000_000, 0)}
	if err := r.deployment(); err != nil {
		t.Fatal(err)
	}
	read := func(name string) map[string]string {
		f, err := os.Open(filepath.Join(r.out, "posthouse-1.2.3-"+name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]string{}
		for archive := tar.NewReader(z); ; {
			h, err := archive.Next()
			if err == io.EOF {
				return files
			}
			text, readErr := io.ReadAll(archive)
			if err := errors.Join(err, readErr); err != nil {
				t.Fatal(err)
			}
			files[fmt.Sprintf("%s %o", h.Name, h.Mode)] = string(text)
		}
	}
	chart := read("chart.tgz")
	if about := chart["posthouse/Chart.yaml 644"]; !strings.Contains(about, "\nversion: 1.2.3\n") || !strings.Contains(about, "\nappVersion: 1.2.3\n") {
		t.Errorf("the chart is %q", about)
	}
	if chart["posthouse/templates/statefulset.yaml 644"] == "" || chart["posthouse/values.yaml 644"] == "" {
		t.Errorf("the chart lacks files")
	}
	compose := read("compose.tar.gz")
	if compose["posthouse-compose/secrets.sh 755"] == "" || compose["posthouse-compose/compose.yaml 644"] == "" || compose["posthouse-compose/compose.mail.yaml 644"] == "" || len(compose) != 5 {
		t.Errorf("for compose there are %v", slices.Collect(maps.Keys(compose)))
	}
	if read("monitoring.tar.gz")["posthouse-monitoring/posthouse.rules.yaml 644"] == "" {
		t.Error("there are no alerts")
	}
}
