package console

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/catalog"
	"github.com/posthouse/posthouse/wire"
)

// What is written down of a delivery in four places is one list: an attempt and its result are one line of it, with the time since the one
// before.
func TestTheTimelineIsOneList(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Date(2026, 3, 1, 8, 0, s, 0, time.UTC) }
	l := life{Story: wire.Story{
		Events: []posthouse.Event{
			{Version: 1, At: at(0), Type: posthouse.EventAccept, To: posthouse.Pending},
			{Version: 2, At: at(10), Type: posthouse.EventStart, To: posthouse.Sending, Attempt: 1},
			{Version: 3, At: at(12), Type: posthouse.EventRetry, To: posthouse.Pending, Attempt: 1},
			{Version: 4, At: at(60), Type: posthouse.EventStart, To: posthouse.Sending, Attempt: 2},
		},
		Attempts: []posthouse.Attempt{{Number: 1, StartedAt: at(10), FinishedAt: at(12), Class: posthouse.ClassRate}, {Number: 2, StartedAt: at(60)}, {Number: 7, StartedAt: at(90)}},
		Reported: []wire.Line{{At: at(30), Agent: "phone-1"}},
	}}
	type line struct {
		Kind  string
		Event posthouse.EventType
		Try   int
		Began bool
		Gap   time.Duration
	}
	var got []line
	for _, m := range l.Timeline() {
		one := line{Kind: m.Kind, Event: m.Event.Type, Began: m.Began, Gap: m.Gap}
		if m.Try != nil {
			one.Try = m.Try.Number
		}
		got = append(got, one)
	}
	want := []line{
		{Kind: "step", Event: posthouse.EventAccept}, {Kind: "attempt", Event: posthouse.EventRetry, Try: 1, Gap: 10 * time.Second}, {Kind: "phone", Gap: 18 * time.Second},
		{Kind: "attempt", Event: posthouse.EventStart, Try: 2, Began: true, Gap: 30 * time.Second}, {Kind: "attempt", Try: 7, Began: true, Gap: 30 * time.Second},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if list := (life{}).Timeline(); len(list) != 0 {
		t.Errorf("of nothing there are %d lines", len(list))
	}
}

// The page says what happens next and when: a delivery that waits is sent when the last of what holds it is over.
func TestWhatHappensNext(t *testing.T) {
	t.Parallel()
	soon, late := time.Unix(60, 0), time.Unix(600, 0)
	of := func(state posthouse.State, waits ...wire.Wait) life {
		d := posthouse.Delivery{State: state, Attempts: 2, LeaseUntil: soon}
		return life{Story: wire.Story{Delivery: d}, Why: wire.Explanation{Waits: waits}, Ready: readyFor(d)}
	}
	for name, c := range map[string]struct {
		of   life
		want next
	}{
		"due":                {of(posthouse.Pending), next{Word: "next_claim", Count: 3}},
		"held for a time":    {of(posthouse.Pending, wire.Wait{Until: late}, wire.Wait{Until: soon}), next{Word: "next_send", At: late, Count: 3}},
		"held by a person":   {of(posthouse.Pending, wire.Wait{Until: late}, wire.Wait{Cause: "paused"}), next{Word: "next_held", Count: 3}},
		"under way":          {of(posthouse.Sending), next{Word: "next_lease", At: soon}},
		"unknown, asked":     {of(posthouse.Unknown, wire.Wait{Cause: "query", Until: soon}), next{Word: "next_query", At: soon}},
		"unknown for people": {of(posthouse.Unknown, wire.Wait{Cause: "operator"}), next{Word: "next_receipt_or_person"}},
		"quarantined":        {of(posthouse.Quarantined), next{Word: "next_person"}},
		"sent":               {of(posthouse.Sent), next{Word: "next_receipt"}},
		"failed":             {of(posthouse.Failed), next{Word: "next_replay"}},
		"cancelled":          {of(posthouse.Cancelled), next{Word: "next_nothing"}},
	} {
		if got := c.of.Next(); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
		if word := c.want.Word; say(word, true) == word || strings.HasSuffix(say(word, true), "：") {
			t.Errorf("%s is %q, which ends in nothing", word, say(word, true))
		}
		if then := c.want.Word + "_then"; !c.want.At.IsZero() && say(then, true) == then {
			t.Errorf("%s has no word behind its time", c.want.Word)
		}
	}
}

// The text for support is in the reader's language, with the codes beside the words, and the button that copies it is not called by all of it.
func TestTheTextForSupportIsInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	d := posthouse.Delivery{ID: "D1", Channel: "sms", State: posthouse.Pending, Reason: "tries_used_up", Attempts: 3, UpdatedAt: time.Unix(0, 0).UTC()}
	x := wire.Explanation{Summary: "It waits: the channel is paused.", Waits: []wire.Wait{{Cause: "paused", Detail: "the channel is paused"}}}
	for _, zh := range []bool{false, true} {
		f := frame{v: &visit{console: &console{o: Options{Version: "v1", Zone: time.UTC}}, zh: zh}}
		got := f.Support(d, x)
		want := []string{"State: waits (pending)\n", "Reason: tries_used_up\n", "Attempts: 3\n", "Waits for: the channel is paused (paused)\n"}
		if zh {
			want = []string{"状态：待发送 (pending)\n", "原因：已达最多失败次数 (tries_used_up)\n", "发送尝试：3\n", "(paused)\n", "版本：v1\n"}
		}
		for _, text := range want {
			if !strings.Contains(got, text) {
				t.Errorf("%q is not in\n%s", text, got)
			}
		}
		if zh && strings.Contains(got, "paused.") {
			t.Errorf("English is left:\n%s", got)
		}
	}
}

// What an agent ended is not refused for now alone, and why is in words, which the search takes too.
func TestAnAttemptThatEndsADeliveryIsNotRefusedForNow(t *testing.T) {
	t.Parallel()
	over, again := posthouse.Event{Type: posthouse.EventFail, To: posthouse.Failed, Reason: "no_retry"}, posthouse.Event{Type: posthouse.EventRetry, To: posthouse.Pending}
	for zh, want := range map[bool][3]string{false: {"refused", "refused for now", "the agent says that a repeat is useless"}, true: {"被拒绝", "暂时拒绝", "发送端表示重试无用"}} {
		f := frame{v: &visit{console: &console{}, zh: zh}}
		got := [3]string{f.ResultWord(posthouse.ClassTransient, over), f.ResultWord(posthouse.ClassTransient, again), f.ReasonWord("no_retry")}
		if got != want {
			t.Errorf("the words are %q, want %q", got, want)
		}
		if code := catalog.ReasonOf(got[2]); code != "no_retry" {
			t.Errorf("%q is read as %q", got[2], code)
		}
	}
}

// One cause that the summary says already is not said a second time; of several each is.
func TestACauseIsSaidOnce(t *testing.T) {
	t.Parallel()
	paused, full := wire.Wait{Cause: "paused", Detail: "the channel is paused"}, wire.Wait{Cause: "limit", Detail: "the windows are full"}
	for name, c := range map[string]struct {
		waits []wire.Wait
		want  int
	}{"said": {[]wire.Wait{paused}, 0}, "another": {[]wire.Wait{full}, 1}, "two": {[]wire.Wait{paused, full}, 2}} {
		l := life{Why: wire.Explanation{Summary: "It waits: the channel is paused.", Waits: c.waits}}
		if got := len(l.Holds()); got != c.want {
			t.Errorf("%s: %d are said, want %d", name, got, c.want)
		}
	}
}
