package simulator

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func seqs(arrivals []Arrival) []int64 {
	out := []int64{}
	for _, a := range arrivals {
		out = append(out, a.Seq)
	}
	return out
}

func send(t *testing.T, url string, users ...string) {
	t.Helper()
	for _, user := range users {
		_, err := tianyuan(t, url, user)
		must(t, err)
	}
}

func TestArrivalsBeyondTheBoundAreDroppedAndStillCounted(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"by number": {Keep: 3},
		"by size":   {KeepBytes: 3 * (arrivalSize + len("/tianyuan/api/message/send") + len("u1u1hello"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim, url := serve(t, o)
			send(t, url, "u1", "u2", "u3", "u4", "u5")
			if got, want := seqs(sim.Arrivals(Filter{})), []int64{3, 4, 5}; !cmp.Equal(got, want) {
				t.Errorf("kept %v, want %v", got, want)
			}
			if got := sim.Totals().Arrivals; got != 5 {
				t.Errorf("counted %d, want 5", got)
			}
			if st := sim.Status(); st.Kept != 3 || st.Keys != 5 {
				t.Errorf("got %+v", st)
			}
		})
	}
}

func TestTheLedgerStaysSmall(t *testing.T) {
	t.Parallel()
	o := Options{Keep: 2000, KeepKeys: 1000}.filled()
	sim := New(o)
	for i := range 20_000 {
		sim.record(sim.fakes[0], entry{arrivals: []Arrival{{Provider: "tianyuan", Key: fmt.Sprint(i), Answer: Accepted}}})
	}
	if got := cap(sim.ledger.kept); got > 10_000 {
		t.Errorf("room for %d arrivals, want a small multiple of 2000", got)
	}
	if got := sim.Arrivals(Filter{Limit: 5000}); len(got) != 2000 || got[0].Seq != 18_001 || got[1999].Seq != 20_000 {
		t.Errorf("kept %d", len(got))
	}
	st := sim.Status()
	if st.Keys != 1000 || st.ForgottenKeys != 19_000 {
		t.Errorf("got %d keys and %d forgotten, want 1000 and 19000", st.Keys, st.ForgottenKeys)
	}
	if got := sim.Count("tianyuan", "19000"); got.Taken != 1 {
		t.Errorf("a young key: got %+v", got)
	}
	if got := sim.Count("tianyuan", "18999"); got.Taken != 0 {
		t.Errorf("an old key: got %+v", got)
	}
}

func TestFiltersPickArrivals(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	send(t, url, "a", "b", "a", "c")
	call(t, "POST", url+"/generic/x", `{"to":"a","id":"k"}`)
	for _, test := range []struct {
		name   string
		filter Filter
		want   []int64
	}{
		{"all", Filter{}, []int64{1, 2, 3, 4, 5}},
		{"the last ones", Filter{Limit: 2}, []int64{4, 5}},
		{"a provider's", Filter{Provider: "generic"}, []int64{5}},
		{"a user's", Filter{User: "a"}, []int64{1, 3, 5}},
		{"a key's", Filter{Key: "k"}, []int64{5}},
		{"a user's last", Filter{User: "a", Limit: 2}, []int64{3, 5}},
		{"the first ones since a number", Filter{Since: new(int64(1)), Limit: 2}, []int64{2, 3}},
		{"a user's since a number", Filter{Since: new(int64(1)), User: "a"}, []int64{3, 5}},
		{"from the beginning", Filter{Since: new(int64(0)), Limit: 1}, []int64{1}},
		{"nothing after the last", Filter{Since: new(int64(9))}, []int64{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := seqs(sim.Arrivals(test.filter)); !cmp.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestClearForgetsAllButTheNumbers(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	send(t, url, "u1", "u1")
	sim.Clear()
	if got := sim.Totals(); got != (Totals{}) {
		t.Errorf("got %+v after clear", got)
	}
	send(t, url, "u1")
	got := sim.Arrivals(Filter{})
	if len(got) != 1 || got[0].Seq != 3 || got[0].Duplicate {
		t.Errorf("got %+v, want arrival 3 as if u1 were new", got)
	}
}

func TestARefusalIsNoDuplicate(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	send(t, url, "busy-twice", "busy-twice", "busy-twice")
	want := Count{"tianyuan", "busy-twice", 3, 1, 0}
	if got := sim.Count("tianyuan", "busy-twice"); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := sim.Totals(), (Totals{Arrivals: 3, Accepted: 1, Refused: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestCountsListKeysThatCameOften(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	send(t, url, "a", "b", "a")
	call(t, "POST", url+"/oa/messages", "to=u&body=b&ref=a")
	want := []Count{{"tianyuan", "a", 2, 2, 0}}
	for _, provider := range []string{"", "tianyuan"} {
		if got := sim.Counts(provider, 2); !cmp.Equal(got, want) {
			t.Errorf("%q: got %+v, want %+v", provider, got, want)
		}
	}
	if got := sim.Counts("oa", 2); len(got) != 0 {
		t.Errorf("oa: got %+v", got)
	}
}

func TestTheJournalHoldsEachArrival(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "arrivals.ndjson")
	must(t, os.WriteFile(path, []byte("{\"seq\":0}\n"), 0o600))
	journal, err := OpenJournal(path)
	must(t, err)
	defer journal.Close()
	sim, url := serve(t, Options{Journal: journal})

	_, err = tianyuan(t, url, "lost-answer") // journalled although nobody was told
	if err == nil {
		t.Fatal("the answer was not lost")
	}
	call(t, "POST", url+"/zhaohu/im/v1/notify", `{"receivers":"u1,fail-recipient","text":"两行\n字","requestNo":"r"}`)
	sim.Clear() // leaves the journal alone

	type fields struct {
		Seq                             int
		Provider, Path, Key, User, Text string
		Answer                          Answer
		Status                          int
	}
	var got []fields
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		got = append(got, decode[fields](t, lines.Text()))
	}
	want := []fields{
		{},
		{1, "tianyuan", "/tianyuan/api/message/send", "lost-answer", "lost-answer", "hello", Lost, 0},
		{2, "zhaohu", "/zhaohu/im/v1/notify", "r/u1", "u1", "两行\n字", Accepted, 200},
		{3, "zhaohu", "/zhaohu/im/v1/notify", "r/fail-recipient", "fail-recipient", "两行\n字", Refused, 200},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestABrokenJournalIsNamedByHealthz(t *testing.T) {
	t.Parallel()
	var log lines
	_, url := serve(t, Options{Journal: fullDisk{}, Log: log.logger()})
	if got := call(t, "GET", url+"/healthz", ""); got.status != 200 {
		t.Errorf("before: got %d", got.status)
	}
	send(t, url, "u1", "u2")
	got := call(t, "GET", url+"/healthz", "")
	if got.status != 503 || !strings.Contains(got.body, "no space left on device") {
		t.Errorf("after: got %d %s", got.status, got.body)
	}
	if n := strings.Count(log.String(), "the journal of arrivals"); n != 1 {
		t.Errorf("logged %d times, want once: %s", n, log.String())
	}
}

func TestOpenJournalNamesThePath(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "missing", "a.ndjson")
	if _, err := OpenJournal(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want an error that names %s", err, path)
	}
}

func TestArrivalsAreCountedExactlyUnderLoad(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 50 {
				if err := post(t.Context(), url+"/generic/send", fmt.Sprintf(`{"to":"u","id":"%d"}`, i)); err != nil {
					t.Errorf("worker %d: %v", worker, err)
				}
			}
		})
	}
	wg.Wait()
	want := Totals{Arrivals: 400, Accepted: 400, Duplicates: 350}
	if got := sim.Totals(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for i := range 50 {
		if got := sim.Count("generic", fmt.Sprint(i)); got.Taken != 8 {
			t.Errorf("got %+v, want 8 taken", got)
		}
	}
}

func TestArrivalsAreJSONAsDocumented(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(Arrival{
		Seq: 1, Provider: "oa", Path: "/p", Key: "k", User: "u", Title: "t", Text: "x", Answer: Lost,
		Status: 200, ID: "i", Code: Busy, Fault: Garbage, Repeat: true, Duplicate: true,
	})
	must(t, err)
	want := `{"seq":1,"at":"0001-01-01T00:00:00Z","provider":"oa","path":"/p","key":"k","user":"u","title":"t","text":"x",` +
		`"answer":"lost","status":200,"id":"i","code":"busy","fault":"garbage","repeat":true,"duplicate":true}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
