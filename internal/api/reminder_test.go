package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

// reminded is a reminder as the API answers it.
type reminded struct {
	posthouse.Reminder
	DuplicateOf string      `json:"duplicate_of"`
	Slots       []time.Time `json:"next_slots"`
}

// countdown is the body of a reminder on the channel later, an hour before each quarter, which begins in an
// hour.
func countdown(more string) string {
	return fmt.Sprintf(`{"draft":{"channel":"later","to":[{"user":"u1"}],"content":{"text":"x"},"kind":"pass","ref":"7"%s},
		"countdown":{"to":%q,"before":"60m","every":"15m"}}`, more, time.Now().Add(2*time.Hour).Format(time.RFC3339))
}

const now = `{"draft":{"channel":"later","to":[{"user":"u1"}],"content":{"text":"x"},"kind":"pass","ref":"7"},"repeat":{"every":"1h"}}`

// came waits for a reminder's first message.
func (h *house) came(id string) reminded {
	h.Helper()
	for {
		r := read[reminded](h, h.must(200, "GET", "/v1/reminders/"+id, ""))
		if r.Fired > 0 || h.Context().Err() != nil {
			return r
		}
	}
}

func TestAReminderShowsItsNextSlots(t *testing.T) {
	t.Parallel()
	h := with(t)
	made := read[reminded](t, h.must(202, "POST", "/v1/reminders", countdown("")))
	if made.ID == "" || made.State != posthouse.ReminderOpen || made.Version != 1 || made.Missed != posthouse.MissedCollapse || len(made.Slots) != 5 {
		t.Errorf("made: %+v", made)
	}
	for i, slot := range made.Slots {
		if want := made.Countdown.To.Add(time.Duration(i-4) * 15 * time.Minute); !slot.Equal(want) {
			t.Errorf("slot %d: got %v, want %v", i, slot, want)
		}
	}
	if diff := cmp.Diff(made, read[reminded](t, h.must(200, "GET", "/v1/reminders/"+made.ID, ""))); diff != "" {
		t.Errorf("read again (-made +read):\n%s", diff)
	}
	h.must(404, "GET", "/v1/reminders/none", "")
	if got := h.do(request{method: "GET", path: "/v1/reminders/" + made.ID, key: "other"}); got.status != 404 {
		t.Errorf("another tenant: %d %s", got.status, got.body)
	}
}

func TestARepeatedReminderIsTheFirstOne(t *testing.T) {
	t.Parallel()
	h := with(t)
	body := countdown("")
	post := func(body string) (reply, reminded) {
		r := h.do(request{method: "POST", path: "/v1/reminders", body: body, header: http.Header{"Idempotency-Key": {"k"}}})
		if r.status != 202 {
			return r, reminded{}
		}
		return r, read[reminded](t, r)
	}
	first, made := post(body)
	second, again := post(body)
	if diff := cmp.Diff(made, again); diff != "" || first.header.Get("Idempotent-Replay") != "" || second.header.Get("Idempotent-Replay") != "true" {
		t.Errorf("the same key: %s (-first +second):\n%s", second.header, diff)
	}
	if other, _ := post(now); other.status != 422 && other.status != 409 || !strings.Contains(other.body, string(posthouse.CodeKeyReused)) {
		t.Errorf("the same key with another body: %d %s", other.status, other.body)
	}
	named := read[reminded](t, h.must(202, "POST", "/v1/reminders", countdown(`,"dedup_key":"a/b c"`)))
	double := read[reminded](t, h.must(200, "POST", "/v1/reminders", countdown(`,"dedup_key":"a/b c"`)))
	if named.ID != "a/b c" || double.DuplicateOf != named.ID {
		t.Errorf("the same dedup_key: %q, then duplicate_of %q", named.ID, double.DuplicateOf)
	}
	if got := read[reminded](t, h.must(200, "POST", "/v1/reminders/"+url.PathEscape(named.ID)+"/end", "")); got.State != posthouse.ReminderEnded || got.Reason != "ended" || len(got.Slots) != 0 {
		t.Errorf("ended: %+v", got)
	}
	h.must(202, "POST", "/v1/reminders", countdown(`,"dedup_key":"a/b c"`))
}

// FLOW-16: ending takes back what waits, by id, by kind and ref, and with the messages of a kind and ref.
func TestEndingRemindersWithdrawsWhatWaits(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(h *house, id string){
		"by id":           func(h *house, id string) { h.must(200, "POST", "/v1/reminders/"+id+"/end", "") },
		"by kind and ref": func(h *house, _ string) { h.must(200, "POST", "/v1/reminders/end", `{"kind":"pass","ref":"7"}`) },
		"with messages":   func(h *house, _ string) { h.must(200, "POST", "/v1/messages/cancel", `{"kind":"pass","ref":"7"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := with(t)
			id := h.came(read[reminded](t, h.must(202, "POST", "/v1/reminders", now)).ID).ID
			end(h, id)
			r := read[reminded](t, h.must(200, "GET", "/v1/reminders/"+id, ""))
			if r.State != posthouse.ReminderEnded || len(r.Slots) != 0 {
				t.Errorf("got %+v, want it ended", r)
			}
			m := read[struct {
				Reminder string
				Counts   map[posthouse.State]int
			}](t, h.must(200, "GET", "/v1/messages/"+r.Message, ""))
			if m.Reminder != id || m.Counts[posthouse.Cancelled] != 1 {
				t.Errorf("its message: %+v, want it cancelled", m)
			}
		})
	}
	h := with(t)
	h.must(404, "POST", "/v1/reminders/none/end", "")
	if got := h.must(200, "POST", "/v1/reminders/end", `{"kind":"pass","ref":"8"}`); got.body != "{\"items\":[]}\n" {
		t.Errorf("of none: %s", got.body)
	}
	if got := h.must(422, "POST", "/v1/reminders/end", `{"kind":"pass"}`); !strings.Contains(got.body, `"ref"`) {
		t.Errorf("without a ref: %s", got.body)
	}
}

func TestRemindersAreListed(t *testing.T) {
	t.Parallel()
	h := with(t)
	for _, id := range []string{"c", "a", "b"} {
		h.must(202, "POST", "/v1/reminders", countdown(`,"dedup_key":"`+id+`"`))
	}
	h.must(202, "POST", "/v1/reminders", strings.Replace(countdown(`,"dedup_key":"d"`), `"ref":"7"`, `"ref":"8"`, 1))
	h.must(200, "POST", "/v1/reminders/b/end", "")
	var ids []string
	for cursor := ""; ; {
		page := read[struct {
			Items []reminded
			Next  string
		}](t, h.must(200, "GET", "/v1/reminders?limit=3&cursor="+cursor, ""))
		for _, r := range page.Items {
			ids = append(ids, r.ID)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, ids); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	ids = nil
	for _, r := range read[list[reminded]](t, h.must(200, "GET", "/v1/reminders?kind=pass&ref=7", "")).Items {
		ids = append(ids, r.ID)
	}
	if len(ids) != 3 || ids[2] != "b" {
		t.Errorf("of a ref: got %v, want a, c and then b, which has ended", ids)
	}
	h.must(422, "GET", "/v1/reminders?kind=pass", "")
}

func TestEverythingWrongWithAReminderIsSaid(t *testing.T) {
	t.Parallel()
	h := with(t)
	for body, want := range map[string][]string{
		`{}`: {"draft.channel", "draft.to", "draft.content", "countdown"},
		`{"draft":{"channel":"later","to":[{"user":"u"}],"content":{"text":"x"},"deadline":"2030-01-01T00:00:00Z"},"repeat":{"every":"1x"}}`:  {"repeat.every"},
		`{"draft":{"channel":"later","to":[{"user":"u"}],"content":{"text":"x"},"deadline":"2030-01-01T00:00:00Z"},"repeat":{"every":"1ms"}}`: {"draft.deadline", "repeat.every"},
		`{"draft":{"channel":"nowhere","to":[{"user":"u"}],"content":{"text":"x"}},"repeat":{"every":"1h"}}`:                                  {"draft.channel"},
		`{"draft":{"channel":"later","to":[{"user":"u"}],"template":"none"},"repeat":{"every":"1h"}}`:                                         {"draft.template"},
		`{"draft":{"channel":"later","to":[{"user":"u"}],"content":{"text":"x"}},"repeat":{"every":"1h"},"state":"ended"}`:                    {"state"},
	} {
		var got []string
		for _, p := range read[fault](t, h.must(422, "POST", "/v1/reminders", body)).Problems {
			got = append(got, p.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	if got := h.do(request{method: "POST", path: "/v1/reminders", body: now, key: "read"}); got.status != 403 {
		t.Errorf("with a key that reads: %d", got.status)
	}
}
