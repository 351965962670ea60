package main

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers itself
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers itself
)

// packages makes deb and rpm of nfpm.yaml, which says what lies where.
func (r release) packages(arch, binary, shared string) error {
	config, err := os.ReadFile(filepath.Join(r.root, "packaging", "nfpm.yaml"))
	if err != nil {
		return err
	}
	if err := os.Setenv("SOURCE_DATE_EPOCH", strconv.FormatInt(r.at.Unix(), 10)); err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		given := map[string]string{"ARCH": arch, "VERSION": r.version, "BINARY": binary, "SHARED": shared, "ROOT": r.root}
		expanded := os.Expand(string(config), func(name string) string { return given[name] })
		if err := r.packageOf(format, expanded); err != nil {
			return err
		}
	}
	return nil
}

func (r release) packageOf(format, config string) error {
	path := filepath.Join(r.out, "nfpm.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		return err
	}
	defer os.Remove(path)
	parsed, err := nfpm.ParseFile(path)
	if err != nil {
		return err
	}
	info, err := parsed.Get(format)
	if err != nil {
		return err
	}
	info = nfpm.WithDefaults(info)
	info.MTime = r.at
	for _, c := range info.Contents {
		if c.FileInfo != nil {
			c.FileInfo.MTime = r.at
		}
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	info.Target = filepath.Join(r.out, packager.ConventionalFileName(info))
	out, err := os.Create(info.Target)
	if err != nil {
		return err
	}
	if err := packager.Package(info, out); err != nil {
		return err
	}
	return out.Close()
}
