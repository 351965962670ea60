//go:build !unix

package cli

import "os"

// width is how many columns a terminal has, 0 where that is not known.
func width(*os.File) int { return 0 }
