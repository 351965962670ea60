package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse/internal/cli/shell"
)

// rejecting plays a server whose outbox has two rejected rows, and remembers what it was asked.
func rejecting(t *testing.T) (url string, asked *[]string) {
	t.Helper()
	asked = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" { // its time zone
			w.Write([]byte(`{"status": "ok", "time_zone": "Asia/Shanghai"}`))
			return
		}
		*asked = append(*asked, r.Method+" "+r.URL.RequestURI())
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"waiting": 3, "rejected": 7, "next": "C2", "items": [
			{"id": "row 1", "problem": "channel: there is no channel \"late\"", "failures": 4, "failed_at": "2026-10-01T00:30:00Z", "channel": "late", "ref": "4711"},
			{"id": "row 2", "problem": "nobody knows the node", "failures": 1, "failed_at": "2026-10-01T00:30:00Z", "next_try_at": "2026-10-01T00:30:05Z", "task_event": "node.done", "task_id": "t1"}]}`))
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func TestOutboxCommandsShowRowsAndActOnEach(t *testing.T) {
	t.Parallel()
	url, asked := rejecting(t)
	run := func(args ...string) string {
		var printed bytes.Buffer
		sh := &shell.Shell{In: strings.NewReader(""), Out: &printed, Err: &printed, Dir: t.TempDir(), Environ: []string{"POSTHOUSE_URL=" + url, "POSTHOUSE_API_KEY=k"}}
		if code := run(t.Context(), sh, append([]string{"outbox"}, args...)); code != 0 {
			t.Errorf("%v: exit code %d: %s", args, code, printed.String())
		}
		return printed.String()
	}
	list := run("list", "--limit", "2")
	for _, want := range []string{"3 waiting, 7 rejected", "row 1", "late", "4711", "held", `there is no channel "late"`, "node.done", "t1", "nobody knows the node", "--cursor C2"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list does not show %q:\n%s", want, list)
		}
	}
	run("retry", "row 1", "row/2")
	run("drop", "row 1")
	want := []string{"GET /v1/outbox?limit=2", "POST /v1/outbox/row%201/retry", "POST /v1/outbox/row%2F2/retry", "DELETE /v1/outbox/row%201"}
	if diff := cmp.Diff(want, *asked); diff != "" {
		t.Errorf("the server was asked (-want +got):\n%s", diff)
	}
}
