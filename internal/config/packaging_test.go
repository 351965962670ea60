package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// What compose, the chart and the packages name as a setting is one: the server would not say that it knows nothing of POSTHOUSE_DNS.
func TestPackagingNamesSettingsThatExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"POSTHOUSE_VERSION": true} // the compose file's own: which image is run
	for _, s := range serverSettings {
		known[s.variable()] = true
		known[s.variable()+"_FILE"] = known[s.variable()+"_FILE"] || s.secret
	}
	named := 0
	for _, folder := range []string{"compose", "files", "helm"} {
		err := filepath.WalkDir(filepath.Join("..", "..", "packaging", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			for _, name := range regexp.MustCompile(`POSTHOUSE_[A-Z_]+`).FindAllString(string(text), -1) {
				named++
				if !known[name] {
					t.Errorf("%s names %s, and the server knows no such setting", path, name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if named < 10 {
		t.Errorf("only %d settings are named there: this test reads them no more", named)
	}
}
