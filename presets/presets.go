// Package presets has what is known of providers, as data: for each a file that says what to ask the user, what to send and what
// the answers mean, and one with recorded requests and answers. README.md says how to add one. It has no code: that is internal/preset's.
package presets

import (
	"embed"
	"io/fs"
)

//go:embed *.yaml *.shapes
var files embed.FS

// Files are the presets that ship: NAME.yaml and NAME.shapes.
func Files() fs.FS { return files }
