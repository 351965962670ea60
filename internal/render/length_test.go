package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/render"
)

const (
	family = "👨‍👩‍👧‍👦" // four people and three joiners
	accent = "e\u0301"
)

func TestLengthCountsInEveryUnit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]render.Lengths{
		"":                     {},
		"abc":                  {Bytes: 3, UTF16: 3, Characters: 3, Graphemes: 3},
		"值班":                   {Bytes: 6, UTF16: 2, Characters: 2, Graphemes: 2},
		"😀":                    {Bytes: 4, UTF16: 2, Characters: 1, Graphemes: 1},
		family:                 {Bytes: 25, UTF16: 11, Characters: 7, Graphemes: 1},
		accent:                 {Bytes: 3, UTF16: 2, Characters: 2, Graphemes: 1},
		"\r\n":                 {Bytes: 2, UTF16: 2, Characters: 2, Graphemes: 1},
		"\xff\xfe":             {Bytes: 2, UTF16: 2, Characters: 2, Graphemes: 2},
		"🇨🇳🇨":                  {Bytes: 12, UTF16: 6, Characters: 3, Graphemes: 2},
		strings.Repeat("字", 9): {Bytes: 27, UTF16: 9, Characters: 9, Graphemes: 9},
	} {
		if diff := cmp.Diff(want, render.Length(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestCutNeverSplitsAGrapheme(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		limit int
		unit  render.Unit
		want  string
	}{
		"short enough":       {"值班", 2, render.Characters, "值班"},
		"by characters":      {"值班通知", 3, render.Characters, "值班通"},
		"by bytes":           {"值班", 5, render.Bytes, "值"},
		"surrogate pair":     {"a😀b", 2, render.UTF16, "a"},
		"emoji by UTF-16":    {"a😀b", 3, render.UTF16, "a😀"},
		"family":             {"a" + family + "b", 7, render.Characters, "a"},
		"family by grapheme": {"a" + family + "b", 2, render.Graphemes, "a" + family},
		"accent":             {"caf" + accent, 4, render.Characters, "caf"},
		"nothing fits":       {family, 1, render.Bytes, ""},
		"zero":               {"abc", 0, render.Graphemes, ""},
		"negative":           {"abc", -1, render.Bytes, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := render.Cut(c.text, c.limit, c.unit); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func ExampleCut() {
	title := "轨道提醒:距入轨还有十五分钟👨‍👩‍👧‍👦请准备"
	fmt.Println(render.Cut(title, 14, render.Graphemes))
	fmt.Println(render.Length("👨‍👩‍👧‍👦").Graphemes, "grapheme of", render.Length("👨‍👩‍👧‍👦").Characters, "characters")
	// Output:
	// 轨道提醒:距入轨还有十五分钟
	// 1 grapheme of 7 characters
}
