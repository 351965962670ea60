package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// spdxPackage is a module within the binary, in the words of SPDX 2.3.
type spdxPackage struct {
	ID       string        `json:"SPDXID"`
	Name     string        `json:"name"`
	Version  string        `json:"versionInfo"`
	Location string        `json:"downloadLocation"`
	Analyzed bool          `json:"filesAnalyzed"`
	License  string        `json:"licenseConcluded"`
	Declared string        `json:"licenseDeclared"`
	Refs     []externalRef `json:"externalRefs,omitempty"`
}

type externalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// inventory lists what is inside a binary, as the linker has noted it there.
func (r release) inventory(system, arch, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	name := "posthouse-" + r.version + "-" + system + "-" + arch
	main := spdxPackage{ID: "SPDXRef-posthouse", Name: info.Main.Path, Version: r.version, Location: "https://github.com/posthouse/posthouse", License: "Apache-2.0", Declared: "Apache-2.0"}
	packages := []spdxPackage{main, module("stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, dep := range info.Deps {
		packages = append(packages, module(dep.Path, dep.Version))
	}
	relations := []relationship{{"SPDXRef-DOCUMENT", "DESCRIBES", main.ID}}
	for i := range packages[1:] {
		packages[i+1].ID = fmt.Sprintf("SPDXRef-module-%d", i+1)
		relations = append(relations, relationship{main.ID, "DEPENDS_ON", packages[i+1].ID})
	}
	text, err := json.MarshalIndent(map[string]any{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
		"documentNamespace": "https://github.com/posthouse/posthouse/spdx/" + name + "/" + r.commit,
		"creationInfo":      map[string]any{"created": r.at.Format(time.RFC3339), "creators": []string{"Tool: posthouse-packaging"}},
		"packages":          packages, "relationships": relations,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name+".spdx.json"), append(text, '\n'), 0o644)
}

func module(path, version string) spdxPackage {
	return spdxPackage{Name: path, Version: version, Location: "NOASSERTION", License: "NOASSERTION", Declared: "NOASSERTION",
		Refs: []externalRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + version}}}
}
