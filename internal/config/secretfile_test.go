package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestASecretCanStandInAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	dsn := file("dsn", "postgres://posthouse:pass word@db/posthouse\n")
	c, err := Load(from(t, nil, []string{"POSTHOUSE_DSN_FILE=" + dsn, "POSTHOUSE_KEYRING_FILE=" + file("keys", "x")}, map[string]string{".env": "POSTHOUSE_METRICS_TOKEN_FILE=" + file("token", "0123456789abcdef\r\n")}))
	if err != nil {
		t.Fatal(err)
	}
	if c.Server.DSN != "postgres://posthouse:pass word@db/posthouse" || c.Server.MetricsToken != "0123456789abcdef" || c.Server.KeyringFile != filepath.Join(dir, "keys") || len(c.Warnings) > 0 {
		t.Errorf("got %q, %q, %q and the warnings %q", c.Server.DSN, c.Server.MetricsToken, c.Server.KeyringFile, c.Warnings)
	}
	_, err = Load(from(t, nil, []string{
		"POSTHOUSE_DSN=sqlite:a.db", "POSTHOUSE_DSN_FILE=" + dsn, "POSTHOUSE_REDIS_FILE=" + filepath.Join(dir, "none"),
		"POSTHOUSE_METRICS_TOKEN_FILE=" + file("empty", "\n"), "POSTHOUSE_API_KEY_FILE=" + file("long", strings.Repeat("x", maxSecret+1)),
	}, nil))
	want := []string{
		"POSTHOUSE_API_KEY_FILE: the file " + filepath.Join(dir, "long") + " has more than 65536 bytes: that is no secret",
		"POSTHOUSE_DSN_FILE: POSTHOUSE_DSN is set too: give one of them",
		"POSTHOUSE_METRICS_TOKEN_FILE: the file " + filepath.Join(dir, "empty") + " is empty",
		"POSTHOUSE_REDIS_FILE: the file cannot be read; no such file or directory",
	}
	got := problems(t, err)
	if diff := cmp.Diff(want, sorted(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c, err := LoadClient(from(t, nil, []string{"POSTHOUSE_API_KEY_FILE=" + file("key", "ph_x_y\n")}, nil)); err != nil || c.Key != "ph_x_y" {
		t.Errorf("a client's key: %q, %v", c.Key, err)
	}
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
