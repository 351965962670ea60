package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// asCommand makes the test binary the command posthouse.
const asCommand = "POSTHOUSE_TEST_IS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		Main(Options{})
	}
	os.Exit(m.Run())
}

// TestGuidesAsTyped takes every block of every page as somebody does who reads it for the first time, on a server of its own
// and in one shell:
//
//   - a sh block is typed, and the block right after it is what that prints;
//   - in a block with "$ " before its commands what follows is printed by them; where nothing follows the guide does not show it;
//   - a yaml block is a channel's file, and is set;
//   - a sql block is asked of the server's database;
//   - of any other block the page's entry in guides says what it is for, or why it is not typed.
//
// What is printed is compared but for ids, times, and the width of columns. A Chinese page that has the blocks of the English one,
// letter for letter, is typed with it.
func TestGuidesAsTyped(t *testing.T) {
	t.Parallel()
	for _, g := range guides {
		t.Run(filepath.Base(g.file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(g.file)
			if err != nil {
				t.Fatal(err)
			}
			if english, ok := strings.CutSuffix(g.file, inChinese); ok && !*update && slices.Equal(typedOf(t, english+".md"), typedOf(t, g.file)) {
				return
			}
			reader := newGuideReader(t, g)
			reader.readAll(string(text))
			if *update {
				if err := os.WriteFile(g.file, []byte(reader.mended(string(text))), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// typedOf are the blocks of a page as they stand there.
func typedOf(t *testing.T, file string) []string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return fence.FindAllString(string(text), -1)
}

func TestEveryGuideWithBlocksIsTyped(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../docs/guide/*.md")
	if err != nil {
		t.Fatal(err)
	}
	readmes, err := filepath.Glob("../README*.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, g := range guides {
		known[g.file] = true
	}
	for _, file := range append(files, readmes...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(blocksOf(string(text))) > 0 && !known[file] {
			t.Errorf("%s has blocks, and guides does not name it", file)
		}
	}
}
