package media_test

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/media"
)

func TestFilesAreWhatTheySay(t *testing.T) {
	t.Parallel()
	const gif, amr, text = "GIF89a....", "#!AMR\nxx", "hello"
	for _, c := range []struct{ said, body, want, problem string }{
		{"", gif, "image/gif", ""},
		{"application/octet-stream", amr, "audio/amr", ""},
		{"", text, "text/plain", ""},
		{"image/gif", gif, "image/gif", ""},
		{"image/png", gif, "", "is image/png, and the file is image/gif"},
		{"audio/amr", amr, "audio/amr", ""},
		{"video/mp4", "\x00\x00\x01no magic", "video/mp4", ""},
		{"video/mp4", text, "", "is video/mp4, and the file is text/plain"},
		{"application/pdf; charset=x", text, "application/pdf", ""},
		{"nonsense type", text, "", "want a media type"},
	} {
		got, err := media.TypeOf(c.said, []byte(c.body))
		if got != c.want || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%q of %q: got %q, %v; want %q, %q", c.said, c.body, got, err, c.want, c.problem)
		}
	}
}

func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"a.png": "a.png", "/etc/passwd": "passwd", `C:\报告.pdf`: "报告.pdf", "": "file", "..": "file", "a/..": "file",
		strings.Repeat("x", 256): "", "a\nb": "", "a\"b": "", "\xff": "",
	} {
		got, err := media.NameOf(given)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", given, got, err, want)
		}
	}
}
