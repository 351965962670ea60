package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/posthouse/posthouse/internal/cli/shell"
)

// The files of other programs that the guide to production shows name settings, variables and addresses that there are.
func TestFilesOfProductionSayWhatTheServerTakes(t *testing.T) {
	t.Parallel()
	serve, _, err := root(&shell.Shell{}).Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	help := helpOf(serve)
	for _, page := range []string{"../docs/guide/production.md", "../docs/guide/production.zh-CN.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		settings, names := 0, 0
		for _, b := range blocksOf(string(text)) {
			if b.kind != "yaml" {
				continue
			}
			var file map[string]any
			if err := yaml.Unmarshal([]byte(b.text), &file); err != nil {
				t.Errorf("%s: line %d: %v", page, b.line, err)
			}
			if file["apiVersion"] == nil {
				for name := range file {
					settings++
					if serve.Flags().Lookup(strings.ReplaceAll(name, "_", "-")) == nil {
						t.Errorf("%s: line %d: there is no setting %s", page, b.line, name)
					}
				}
				continue
			}
			for _, name := range regexp.MustCompile(`POSTHOUSE_[A-Z_]+|--[a-z-]+`).FindAllString(regexp.MustCompile(`(?m)#.*$`).ReplaceAllString(b.text, ""), -1) {
				names++
				if !strings.Contains(help, name) {
					t.Errorf("%s: line %d: serve knows no %s", page, b.line, name)
				}
			}
		}
		if settings < 5 || names < 6 {
			t.Errorf("%s: only %d settings and %d names were found", page, settings, names)
		}
	}
}
