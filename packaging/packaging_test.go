package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
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

func TestATagHasNoPlus(t *testing.T) {
	t.Parallel()
	if got := imageTag("0.1.0-dev+1d3de335"); got != "0.1.0-dev_1d3de335" {
		t.Error(got)
	}
}
