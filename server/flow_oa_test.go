package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// FLOW-15: OA is reached by the generic HTTP driver and believed by its answer alone: accepted with its id,
// refused for good, or busy and tried again. The document's placeholder calls all of them a success.
func TestFLOW15_OAIsBelievedByItsAnswer(t *testing.T) {
	onEachDatabase(t, func(h *house) {
		h.flow(atOnce(20 * time.Millisecond))
		text := "应急成像 \"&=+%|${user}😀"
		body := strings.Replace(finished("1001", "3_1001_0", "u1", "fail-recipient", "busy-twice"), "应急成像-京津冀", strings.ReplaceAll(text, `"`, `\"`), 1)
		id, _ := h.enqueue(body)
		j := h.jobReaches(id, 2, map[string]int{"u1": 1, "fail-recipient": 2, "busy-twice": 1})
		for _, r := range j.Recipients {
			want := map[string]struct {
				class posthouse.Class
				code  string
				tries int
			}{
				"u1": {posthouse.ClassOK, "", 1}, "fail-recipient": {posthouse.ClassRecipient, "E02", 1}, "busy-twice": {posthouse.ClassOK, "", 3},
			}[r.UserID]
			tries := h.attempts(r.ID)
			if last := tries[len(tries)-1]; len(tries) != want.tries || last.Class != want.class || last.Code != want.code {
				h.Errorf("%s: %d attempts, the last one %s with code %q: want %+v", r.UserID, len(tries), last.Class, last.Code, want)
			}
			if (r.ExternalMsgID != "") != (want.class == posthouse.ClassOK) || (r.LastError == "") != (want.class == posthouse.ClassOK) {
				h.Errorf("%s: OA's id is %q, the error %q", r.UserID, r.ExternalMsgID, r.LastError)
			}
			if n := h.number("SELECT COUNT(last_error) FROM tc_notify_recipient WHERE id = '" + r.ID + "'"); (n == 0) != (want.class == posthouse.ClassOK) {
				h.Errorf("%s: the view shows %d errors", r.UserID, n)
			}
		}
		a := h.arrivals("oa", "u1")
		if len(a) != 1 || a[0].ID != j.Recipients[0].ExternalMsgID || !strings.Contains(a[0].Title, text) {
			h.Errorf("OA got %+v, want one arrival with the id %s and the task's name %s", a, j.Recipients[0].ExternalMsgID, text)
		}
	})
}
