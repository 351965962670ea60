package shellword_test

import (
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/shellword"
)

func TestAWordIsQuotedWhereAShellReadsItOtherwise(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":              "''",
		"spring-2026":   "spring-2026",
		"li.na@crm":     "li.na@crm",
		"李娜":            "李娜",
		"a b":           "'a b'",
		"x; $(id)":      "'x; $(id)'",
		"`id`":          "'`id`'",
		"it's":          `'it'\''s'`,
		"'; id; '":      `''\''; id; '\'''`,
		"~root":         "'~root'",
		"=ls":           "'=ls'",
		"a*":            "'a*'",
		"a\nb":          "'a\nb'",
		"a{b,c}":        "'a{b,c}'",
		"!!":            "'!!'",
		"a\u202eb":      "'a\u202eb'",
		"1<2>3|4&5#6\\": `'1<2>3|4&5#6\'`,
	} {
		if got := shellword.Quote(text); got != want {
			t.Errorf("Quote(%q) = %s, want %s", text, got, want)
		}
	}
}

// A shell takes a quoted word for the text that it was.
func TestAShellReadsBackWhatWasQuoted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x; $(id)", "it's", "`id`", "a\nb", "\\", "$HOME", "!x", "'; id; '", "李娜", "~", "a\tb", "*"} {
		got, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+shellword.Quote(text)+" | cat").Output()
		if diff := cmp.Diff(text, string(got)); diff != "" || err != nil {
			t.Errorf("sh reads %q otherwise, %v (-want +got):\n%s", text, err, diff)
		}
	}
}
