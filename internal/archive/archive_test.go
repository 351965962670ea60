package archive

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

var (
	noon  = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	asked = Range{Before: noon.Add(time.Hour)}
)

// message is the id of the nth message of a test.
func message(n int) string { return fmt.Sprintf("01K6%018d0000", n) }

// sent is a message with deliveries that settled at a time.
func sent(n int, at time.Time, deliveries int) (Stored, []posthouse.Event) {
	m := Stored{ID: message(n), Message: &posthouse.Message{ID: message(n), Tenant: "default", Channel: "oa", Content: posthouse.Content{Text: "早上好"}, CreatedAt: noon}}
	var events []posthouse.Event
	m.Recipients = deliveries
	for i := range deliveries {
		id := posthouse.DeliveryID(m.ID, i+1)
		m.Deliveries = append(m.Deliveries, posthouse.Delivery{ID: id, Message: m.ID, Tenant: "default", State: posthouse.Sent, Version: 3, UpdatedAt: at})
		for version, kind := range []posthouse.EventType{posthouse.EventAccept, posthouse.EventStart, posthouse.EventSent} {
			events = append(events, posthouse.Event{Delivery: id, Message: m.ID, Version: int64(version + 1), Type: kind, At: at})
		}
	}
	return m, events
}

func walk[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

// written archives messages that are one after another in the order of their ids.
func written(t *testing.T, r Range, messages []Stored, events []posthouse.Event) (string, Written) {
	t.Helper()
	var out bytes.Buffer
	done, err := Write(&out, Source{Messages: walk(messages), Events: walk(events)}, r)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), done
}

func read(file string) (ids []string, r Range, totals Totals, err error) {
	r, totals, err = Read(strings.NewReader(file), func(rec *Record) error {
		ids = append(ids, rec.Message.ID)
		return nil
	})
	return ids, r, totals, err
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	first, its := sent(1, noon, 2)
	second, more := sent(2, noon, 1)
	events := slices.Concat(its, more)
	file, done := written(t, asked, []Stored{first, second}, events)
	want := Totals{Messages: 2, Deliveries: 3, Events: 9}
	var got []Record
	r, totals, err := Read(strings.NewReader(file), func(rec *Record) error {
		got = append(got, *rec)
		return nil
	})
	if err != nil || r != asked || totals != want || done.Totals != want || len(done.Left) > 0 {
		t.Errorf("read %+v of %+v after %+v: %v", totals, r, done, err)
	}
	records := []Record{{Message: *first.Message, Deliveries: first.Deliveries, Events: its, Recipients: len(first.Deliveries)}, {Message: *second.Message, Deliveries: second.Deliveries, Events: more, Recipients: len(second.Deliveries)}}
	if diff := cmp.Diff(records, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestARangeHoldsWhatSettledWithinIt(t *testing.T) {
	t.Parallel()
	messages := make([]Stored, 0, 6)
	var events []posthouse.Event
	for n, at := range []time.Time{noon.Add(-time.Hour), noon, noon.Add(time.Minute), noon.Add(time.Hour), noon} {
		m, its := sent(n+1, at, 2)
		if n == 4 {
			m.Deliveries[1].State = posthouse.Unknown // which waits for a person
		}
		messages, events = append(messages, m), append(events, its...)
	}
	other, its := sent(6, noon, 1)
	other.Deliveries[0].Tenant, other.Message.Tenant = "other", "other"
	messages, events = append(messages, other), append(events, its...)
	for _, c := range []struct {
		asked Range
		want  []string
	}{
		{Range{Before: noon.Add(time.Hour)}, []string{message(1), message(2), message(3), message(6)}},
		{Range{After: noon, Before: noon.Add(time.Hour), Tenant: "default"}, []string{message(2), message(3)}},
		{Range{Before: noon}, []string{message(1)}},
		{Range{Before: noon, Tenant: "nobody"}, nil},
	} {
		file, done := written(t, c.asked, messages, events)
		ids, _, _, err := read(file)
		if diff := cmp.Diff(c.want, ids); diff != "" || err != nil || done.Left != nil {
			t.Errorf("%+v: %v, left %v (-want +got):\n%s", c.asked, err, done.Left, diff)
		}
	}
}

func TestMessagesThatAreNotWholeAreLeftAndNamed(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(m *Stored, events *[]posthouse.Event){
		"it went on meanwhile":     func(m *Stored, _ *[]posthouse.Event) { m.Deliveries[0].Version++ },
		"a row is gone":            func(m *Stored, _ *[]posthouse.Event) { m.Message = nil },
		"a delivery's row is gone": func(m *Stored, _ *[]posthouse.Event) { m.Deliveries = m.Deliveries[1:] },
		"an event is gone":         func(_ *Stored, events *[]posthouse.Event) { *events = slices.Delete(*events, 1, 2) },
		"all events are gone":      func(_ *Stored, events *[]posthouse.Event) { *events = nil },
	} {
		first, its := sent(1, noon, 1)
		second, more := sent(2, noon, 2)
		last, rest := sent(3, noon, 1)
		harm(&second, &more)
		file, done := written(t, asked, []Stored{first, second, last}, slices.Concat(its, more, rest))
		ids, _, _, err := read(file)
		if want := []string{message(1), message(3)}; err != nil || !slices.Equal(ids, want) || !slices.Equal(done.Left, []string{message(2)}) {
			t.Errorf("%s: archived %v, left %v, %v", name, ids, done.Left, err)
		}
	}
}

func TestNoArchiveThatWasHarmedIsRead(t *testing.T) {
	t.Parallel()
	first, its := sent(1, noon, 1)
	second, more := sent(2, noon, 1)
	whole, _ := written(t, asked, []Stored{first, second}, slices.Concat(its, more))
	text := unpacked(t, whole)
	lines := strings.SplitAfter(text, "\n")
	for want, harmed := range map[string]string{
		"this is no archive":                              "not at all",
		"line 1: this is no archive":                      packed(t, `{"a": 1}`+"\n"),
		"line 1: the archive has the form 3":              packed(t, strings.Replace(text, `"version":2`, `"version":3`, 1)),
		"the archive is cut off":                          whole[:len(whole)-30],
		"line 3: the archive is cut off":                  packed(t, strings.Join(lines[:3], "")),
		"line 4: the archive was changed":                 packed(t, strings.Replace(text, "早上好", "晚上好", 1)),
		"line 3: the archive says that it holds":          packed(t, lines[0]+lines[1]+lines[3]),
		"line 3: message " + message(1):                   packed(t, lines[0]+lines[2]+lines[1]+lines[3]),
		"line 2: message " + message(1) + " is not whole": packed(t, strings.Replace(text, `"state":"sent"`, `"state":"pending"`, 1)),
		"line 5: there is something behind":               packed(t, text+lines[1]),
		`line 2: json: unknown field "more"`:              packed(t, strings.Replace(text, `"events":`, `"more":1,"events":`, 1)),
	} {
		if _, _, _, err := read(harmed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestAnErrorOfTheSourceEndsTheArchive(t *testing.T) {
	t.Parallel()
	away := errors.New("the database is away")
	first, its := sent(1, noon, 1)
	fails := func(yield func(posthouse.Event, error) bool) { yield(posthouse.Event{}, away) }
	if _, err := Write(io.Discard, Source{Messages: walk([]Stored{first}), Events: fails}, asked); !errors.Is(err, away) {
		t.Errorf("got %v of the events", err)
	}
	lost := func(yield func(Stored, error) bool) { yield(Stored{}, away) }
	if _, err := Write(io.Discard, Source{Messages: lost, Events: walk(its)}, asked); !errors.Is(err, away) {
		t.Errorf("got %v of the messages", err)
	}
}

func unpacked(t *testing.T, file string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
