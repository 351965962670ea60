package web

import "testing"

func TestControlsAreShownAsMarks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"<b>li.na</b>\n":                                  "<b>li.na</b>\n",
		"<b>\u202egnahz</b>":                              "<b>[U+202E]gnahz</b>",
		"<td>a\u2066b\u2069c\u200f</td>":                  "<td>a[U+2066]b[U+2069]c[U+200F]</td>",
		"<td>\x1b[31m\u0085\u2028</td>":                   "<td>[U+001B][31m[U+0085][U+2028]</td>",
		"<input value=\"\u202ex\">\u202e":                 "<input value=\"\u202ex\">[U+202E]",
		"<textarea name=\"t\">a\u202eb</textarea>\u202e王": "<textarea name=\"t\">a\u202eb</textarea>[U+202E]王",
	} {
		if got := string(Marked([]byte(text))); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
