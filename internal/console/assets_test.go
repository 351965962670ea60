package console

import (
	"io/fs"
	"testing"
)

// The console takes at most 2 MB of the program (its pages, styles and scripts as they are embedded, and their code): half of that is for
// the files, of which there are 0.5 MB; the code has 0.8.
func TestWhatThePagesTakeOfTheProgram(t *testing.T) {
	t.Parallel()
	sum := int64(0)
	add := func(from fs.FS) {
		err := fs.WalkDir(from, ".", func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				sum += info.Size()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add(files)
	for _, g := range groups() {
		add(g.Files)
	}
	if sum > 1_000_000 || sum < 300_000 {
		t.Errorf("the pages and what they load take %d bytes", sum)
	}
}
