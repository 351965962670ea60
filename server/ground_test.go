package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// Somebody removes the database under the server: nothing is answered with 202 any more, and all who ask learn why.
func TestNothingIsAcceptedOnceTheFileIsGone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "posthouse.db")
	h := open(t, "sqlite:"+path)
	_, _, err := h.api.Channels.Put(t.Context(), posthouse.Channel{Name: "sink", Driver: "discard"})
	h.must(err)
	const message = `{"channel":"sink","content":{"text":"hello"},"to":[{"address":"a"}]}`
	if status, answer := h.call(http.MethodPost, "/v1/messages", "application/json", message); status != http.StatusAccepted {
		t.Fatalf("before: %d %v", status, answer)
	}
	for _, ending := range []string{"", "-wal", "-shm"} {
		h.must(os.Rename(path+ending, path+ending+".away"))
	}
	status, answer := h.call(http.MethodPost, "/v1/messages", "application/json", message)
	if status != http.StatusServiceUnavailable || answer["detail"] != sqldb.FileGone {
		t.Errorf("without its file the server answers %d %v", status, answer)
	}
	status, answer = h.call(http.MethodGet, "/readyz", "", "")
	first := answer["checks"].([]any)[0].(map[string]any)
	if status != http.StatusServiceUnavailable || first["detail"] != sqldb.FileGone {
		t.Errorf("/readyz answers %d %v", status, answer)
	}
	if lines := h.log.with(line{"msg": sqldb.FileGone + ": nothing is accepted or sent any more. Put back the very same file if it was moved; else restore a backup and restart"}); len(lines) != 1 {
		t.Errorf("the log says it %d times:\n%s", len(lines), h.log.tail(10))
	}
	for _, ending := range []string{"", "-wal", "-shm"} {
		h.must(os.Rename(path+ending+".away", path+ending))
	}
	h.eventually("it accepts again when the very same files are back", func() bool {
		status, _ := h.call(http.MethodPost, "/v1/messages", "application/json", message)
		return status == http.StatusAccepted
	})
}
