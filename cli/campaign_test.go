package cli

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse/internal/dbtest"
	"github.com/posthouse/posthouse/internal/secret"
)

// cutting stands before a server and ends each connection on which people are sent after some bytes, a few times.
func cutting(t *testing.T, server string, times int32, after int64) string {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	var cuts atomic.Int32
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/members") && cuts.Add(1) <= times {
			r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, after), broken{}))
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// CAMP-9: an import goes on where it was, also after its connection is lost; another file is refused.
func TestAnImportGoesOnAfterItsConnectionIsLost(t *testing.T) {
	t.Parallel()
	key := secret.FormatKey(secret.NewKey())
	server := serveForTest(t, key, dbtest.SQLite(t))
	environ := []string{"POSTHOUSE_URL=" + server, "POSTHOUSE_API_KEY=" + key}
	for _, args := range [][]string{{"channel", "set", "desk", "--driver", "console"}, {"campaign", "create", "spring", "--channel", "desk", "--text", "hello"}} {
		if text, code := ran(t, environ, args...); code != 0 {
			t.Fatal(text)
		}
	}
	var b strings.Builder
	b.WriteString("openid,name\n")
	for i := range 30_000 {
		fmt.Fprintf(&b, "o6_bmjrPTlm6_2sgVt7hM%07d,张三\n", i)
	}
	folder := t.TempDir()
	file, other := filepath.Join(folder, "people.csv"), filepath.Join(folder, "other.csv")
	for path, text := range map[string]string{file: b.String(), other: strings.Replace(b.String(), "0000000,", "9999999,", 1)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server+"/v1/campaigns/spring/members", strings.NewReader(b.String()[:500_000]))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode != http.StatusOK || res.Body.Close() != nil {
		t.Fatalf("the first part: %v, %v", res, err)
	}
	if text, code := ran(t, environ, "campaign", "import", "spring", other); code == 0 || !strings.Contains(text, "is another file") {
		t.Errorf("another file: %d %s", code, text)
	}
	lossy := []string{"POSTHOUSE_URL=" + cutting(t, server, 2, 200_000), "POSTHOUSE_API_KEY=" + key}
	if text, code := ran(t, lossy, "campaign", "import", "spring", file); code != 0 || strings.Count(text, "the connection was lost") != 2 || !strings.Contains(text, "ready: 30000 people, 0 repeated, 0 refused") {
		t.Errorf("the same file on a bad line: %d %s", code, text)
	}
	if text, code := ran(t, environ, "campaign", "import", "spring", other); code == 0 || !strings.Contains(text, "the people are complete: nothing of it is added") {
		t.Errorf("a second file: %d %s", code, text)
	}
	packed := filepath.Join(folder, "people.csv.gz")
	var gz bytes.Buffer
	z := gzip.NewWriter(&gz)
	if _, err := z.Write([]byte(b.String())); err != nil || z.Close() != nil || os.WriteFile(packed, gz.Bytes(), 0o600) != nil {
		t.Fatal("the file was not packed")
	}
	for _, path := range []string{file, packed} {
		if text, code := ran(t, environ, "campaign", "import", "spring", path); code != 0 || !strings.Contains(text, "ready: 30000 people") {
			t.Errorf("%s once more: %d %s", path, code, text)
		}
	}
}

// CAMP-1, CAMP-10: a campaign from its file to everybody's outcome, on the command line alone.
func TestACampaignOnTheCommandLine(t *testing.T) {
	t.Parallel()
	key := secret.FormatKey(secret.NewKey())
	environ := []string{"POSTHOUSE_URL=" + serveForTest(t, key, dbtest.SQLite(t)), "POSTHOUSE_API_KEY=" + key}
	var b strings.Builder
	b.WriteString("openid,name\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "o%04d,n%d\n", i, i)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "people.csv")
	if err := os.WriteFile(file, []byte(b.String()+"o9999\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(want string, args ...string) {
		t.Helper()
		if text, code := ran(t, environ, args...); code != 0 || !strings.Contains(text, want) {
			t.Errorf("%v: %d\n%s\nwant %q", args, code, text, want)
		}
	}
	run("", "channel", "set", "desk", "--driver", "console")
	run("", "template", "set", "hi", "--text", "hello ${name}")
	run("1 refused", "campaign", "create", "spring", "--channel", "desk", "--template", "hi", "--audience", file, "--segment-size", "300")
	run("2000", "campaign", "start", "spring")
	run("sent     2000", "campaign", "watch", "spring", "--every", "100ms")
	run("sent", "campaign", "who", "spring", "o1234")
	run("", "campaign", "export", "spring", "--outcome", "sent", "--output", filepath.Join(folder, "sent.csv"))
	if text, err := os.ReadFile(filepath.Join(folder, "sent.csv")); err != nil || strings.Count(string(text), "\n") != 2001 {
		t.Errorf("the export has %d lines, %v; want a head and 2000", strings.Count(string(text), "\n"), err)
	}
	if text, code := ran(t, environ, "campaign", "start", "spring"); code != 1 || !strings.Contains(text, "is done: start is possible while it is ready") {
		t.Errorf("a second start: %d %s", code, text)
	}
}
