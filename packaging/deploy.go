package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
)

// deployment packs what servers are set up with: the Helm chart with the release's version in it, the compose file, and alerts and dashboards.
func (r release) deployment() error {
	for _, part := range []struct {
		folder, within, name string
		edit                 func(name string, text []byte) []byte
	}{
		{"helm/posthouse", "posthouse/", "-chart.tgz", r.versioned},
		{"compose", "posthouse-compose/", "-compose.tar.gz", nil},
		{"monitoring", "posthouse-monitoring/", "-monitoring.tar.gz", nil},
	} {
		entries, err := folder(filepath.Join(r.root, "packaging", filepath.FromSlash(part.folder)), part.within)
		if err != nil {
			return err
		}
		for i := range entries {
			if part.edit != nil {
				entries[i].text = part.edit(entries[i].name, entries[i].text)
			}
		}
		text, err := tarOf(entries, r.at)
		if err == nil {
			text, err = zipped(text)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(r.out, "posthouse-"+r.version+part.name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// versioned is a chart's description with the release's version.
func (r release) versioned(name string, text []byte) []byte {
	if name != "posthouse/Chart.yaml" {
		return text
	}
	text = bytes.Replace(text, []byte("\nversion: 0.0.0\n"), []byte("\nversion: "+r.version+"\n"), 1)
	return bytes.Replace(text, []byte("\nappVersion: 0.0.0\n"), []byte("\nappVersion: "+r.version+"\n"), 1)
}

// folder is all that is in a folder, in the order of names. What one runs stays so. What begins with a dot and belongs to who tried it here (.env) is left out.
func folder(root, within string) ([]entry, error) {
	var entries []entry
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".env" || d.Name() == ".env.new" {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		text, err := os.ReadFile(path)
		entries = append(entries, entry{name: within + filepath.ToSlash(rel), mode: mode, text: text})
		return err
	})
	return entries, err
}
