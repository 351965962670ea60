package proof

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/wire"
)

// A settled delivery has the time at which it settled: what comes later and changes nothing moves it nowhere.
func TestADeliveryHasTheTimeAtWhichItSettled(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 11, 28, 1, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		events []posthouse.EventType
		states []posthouse.State
		more   bool
		want   int // the event whose time it is, -1 for the last change
	}{
		"a recall that did nothing":     {[]posthouse.EventType{"accept", "start", "sent", "recall"}, []posthouse.State{"pending", "sending", "sent", "sent"}, false, 2},
		"several recalls":               {[]posthouse.EventType{"accept", "start", "sent", "recall", "recall"}, []posthouse.State{"pending", "sending", "sent", "sent", "sent"}, false, 2},
		"a recall after a receipt":      {[]posthouse.EventType{"accept", "sent", "receipt", "recall"}, []posthouse.State{"pending", "sent", "delivered", "delivered"}, false, 2},
		"sent twice":                    {[]posthouse.EventType{"accept", "sent", "receipt", "receipt"}, []posthouse.State{"pending", "sent", "undelivered", "sent"}, false, 3},
		"nothing follows":               {[]posthouse.EventType{"accept", "start", "fail"}, []posthouse.State{"pending", "sending", "failed"}, false, 2},
		"it waits":                      {[]posthouse.EventType{"accept", "start", "retry", "wake"}, []posthouse.State{"pending", "sending", "pending", "pending"}, false, -1},
		"more than the statement holds": {[]posthouse.EventType{"accept", "sent", "recall"}, []posthouse.State{"pending", "sent", "sent"}, true, -1},
		"no events":                     {nil, []posthouse.State{"sent"}, false, -1},
	} {
		d := wire.ProofDelivery{More: test.more, Delivery: posthouse.Delivery{State: test.states[len(test.states)-1], UpdatedAt: first.Add(time.Hour)}}
		for i, is := range test.events {
			d.Events = append(d.Events, posthouse.Event{Type: is, To: test.states[i], At: first.Add(time.Duration(i) * time.Second)})
		}
		want := d.Delivery.UpdatedAt
		if test.want >= 0 {
			want = d.Events[test.want].At
		}
		if got := Since(&d); !got.Equal(want) {
			t.Errorf("%s: it is of %s, want %s", name, got, want)
		}
	}
}

// A proof that was made before the time of sending was told from that of a recall is good as it is, and says when it was sent.
func TestAProofOfAnEarlierVersionSaysWhenItWasSent(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/recalled.json")
	if err != nil {
		t.Fatal(err)
	}
	found, err := Check(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &found.Statement.Parts[0].Deliveries[0]
	if got := Since(d).Format(time.TimeOnly); got != "06:41:56" || d.Delivery.UpdatedAt.Format(time.TimeOnly) != "06:41:58" || d.Delivery.State != posthouse.Sent {
		t.Errorf("it was sent at %s, want 06:41:56, two seconds before the recall", got)
	}
	var p wire.Proof
	if err := json.Unmarshal(file, &p); err != nil {
		t.Fatal(err)
	}
	page, err := Page(p, false, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	if head := "sent <code>recall_not_supported</code>, 2026-11-30 06:41:56.249"; !strings.Contains(string(page), head) {
		t.Errorf("the page lacks %q", head)
	}
}
