package simulator

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
)

func seconds1() posthouse.Duration { return posthouse.Duration(time.Second) }

func TestFaultsOfTheWholeRequest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		fault  Fault
		status int // 0: no answer
		header [2]string
		body   string
		want   Totals
	}{
		{"429 names a second unless told otherwise", Fault{Kind: RateLimited}, 429, [2]string{"Retry-After", "1"}, "", Totals{Arrivals: 1, Refused: 1}},
		{"429 names the wait it is told", Fault{Kind: RateLimited, RetryAfter: 30}, 429, [2]string{"Retry-After", "30"}, "", Totals{Arrivals: 1, Refused: 1}},
		{"5xx is 503", Fault{Kind: ServerError}, 503, [2]string{"Retry-After", ""}, "", Totals{Arrivals: 1, Refused: 1}},
		{"5xx is what it is told", Fault{Kind: ServerError, Status: 502}, 502, [2]string{}, "", Totals{Arrivals: 1, Refused: 1}},
		{"redirect points to a login", Fault{Kind: Redirect}, 302, [2]string{"Location", "/login"}, "", Totals{Arrivals: 1, Refused: 1}},
		{"redirect points where it is told", Fault{Kind: Redirect, Status: 307, Location: "/x"}, 307, [2]string{"Location", "/x"}, "", Totals{Arrivals: 1, Refused: 1}},
		{"business error inside a 200", Fault{Kind: Business}, 200, [2]string{}, `"code":5000`, Totals{Arrivals: 1, Refused: 1}},
		{"business error by its code", Fault{Kind: Business, Code: TooFast, RetryAfter: 9}, 200, [2]string{}, `"retryAfter":9`, Totals{Arrivals: 1, Refused: 1}},
		{"garbage is taken", Fault{Kind: Garbage}, 200, [2]string{}, "rubbish", Totals{Arrivals: 1, Lost: 1}},
		{"cut before is no arrival", Fault{Kind: CutBefore}, 0, [2]string{}, "", Totals{}},
		{"cut after is taken", Fault{Kind: CutAfter}, 0, [2]string{}, "", Totals{Arrivals: 1, Lost: 1}},
		{"latency only delays", Fault{Kind: Latency, Latency: posthouse.Duration(time.Millisecond), Jitter: posthouse.Duration(time.Millisecond)}, 200, [2]string{}, `"code":0`, Totals{Arrivals: 1, Accepted: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sim, url := serve(t, Options{})
			must(t, sim.Behave("tianyuan", Behaviour{Faults: []Fault{test.fault}}))
			got, err := tianyuan(t, url, "u1")
			if (err != nil) != (test.status == 0) {
				t.Fatalf("got error %v", err)
			}
			if got.status != test.status || !strings.Contains(got.body, test.body) {
				t.Errorf("got %d %q, want %d with %q", got.status, got.body, test.status, test.body)
			}
			if test.header[0] != "" && got.header.Get(test.header[0]) != test.header[1] {
				t.Errorf("%s: got %q, want %q", test.header[0], got.header.Get(test.header[0]), test.header[1])
			}
			if totals := sim.Totals(); totals != test.want {
				t.Errorf("totals: got %+v, want %+v", totals, test.want)
			}
			for _, a := range sim.Arrivals(Filter{}) {
				if a.Status != test.status {
					t.Errorf("the arrival's status is %d, want %d", a.Status, test.status)
				}
			}
		})
	}
}

func TestCutBeforeIsCountedApart(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	must(t, sim.Behave("tianyuan", Behaviour{Faults: []Fault{{Kind: CutBefore}}}))
	if _, err := tianyuan(t, url, "u1"); err == nil {
		t.Error("the connection was not cut")
	}
	want := Stats{Requests: 1, CutBefore: 1}
	if got := sim.Status().Providers["tianyuan"]; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestHangLastsUntilTheClientLeaves(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	must(t, sim.Behave("tianyuan", Behaviour{Faults: []Fault{{Kind: Hang}}}))
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- post(ctx, url+"/tianyuan/api/message/send", `{"touser":"u","content":"x"}`)
	}()
	must(t, sim.Wait(t.Context(), func(got Totals) bool { return got.Lost == 1 }))
	leave()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the client's own cancellation", err)
	}
}

func TestStopLetsHangingRequestsGo(t *testing.T) {
	t.Parallel()
	sim := New(Options{})
	must(t, sim.Start(t.Context(), ""))
	must(t, sim.Behave("oa", Behaviour{Faults: []Fault{{Kind: Hang}}}))
	done := make(chan error, 1)
	go func() { done <- post(t.Context(), sim.URL()+"/oa/messages", "to=u&body=b") }()
	must(t, sim.Wait(t.Context(), func(got Totals) bool { return got.Lost == 1 }))
	must(t, sim.Stop(t.Context()))
	if err := <-done; err == nil {
		t.Error("a hanging request was answered")
	}
}

func TestSlowAnswerIsLostWhenTheClientLeaves(t *testing.T) {
	t.Parallel()
	sim := New(Options{})
	must(t, sim.Behave("tianyuan", Behaviour{Faults: []Fault{{Kind: Latency, Latency: posthouse.Duration(time.Minute)}}}))
	ctx, leave := context.WithCancel(t.Context())
	url := serveBy(t, sim, func(w http.ResponseWriter, r *http.Request) {
		leave() // not before: a client that leaves too early has sent nothing
		sim.ServeHTTP(w, r)
	})
	if err := post(ctx, url+"/tianyuan/api/message/send", `{"touser":"u","content":"x"}`); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the client's own cancellation", err)
	}
	must(t, sim.Wait(t.Context(), func(got Totals) bool { return got == Totals{Arrivals: 1, Lost: 1} }))
}

func TestFaultsStrikeByRecipientAndTimes(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	must(t, sim.Behave("tianyuan", Behaviour{Faults: []Fault{
		{Kind: ServerError, Recipient: "a-*", Times: 2},
		{Kind: RateLimited, Recipient: "a-*", Times: 1},
		{Kind: ServerError, Status: 500, Recipient: "b"},
	}}))
	var got []int
	for _, user := range []string{"a-1", "c", "a-2", "b", "a-3", "a-4", "b"} {
		answer, err := tianyuan(t, url, user)
		must(t, err)
		got = append(got, answer.status)
	}
	if want := []int{503, 200, 503, 500, 429, 200, 500}; !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	left := sim.Behaviours()["tianyuan"].Faults
	if want := []Fault{{Kind: ServerError, Status: 500, Recipient: "b"}}; !cmp.Equal(left, want) {
		t.Errorf("left in force: %+v, want %+v", left, want)
	}
}

func TestFaultsByProbabilityFollowTheSeed(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64) (struck []bool) {
		f := newFake(table(t.Context(), Options{}, newPhones())[0], Options{Seed: seed})
		f.behave(Behaviour{Faults: []Fault{{Kind: CutAfter, Probability: new(0.3)}}})
		for range 1000 {
			v := f.decide(time.Now(), order{messages: []message{{user: "u"}}})
			struck = append(struck, v.fault.Kind == CutAfter)
		}
		return struck
	}
	first, again, other := draw(7), draw(7), draw(8)
	if !cmp.Equal(first, again) {
		t.Error("one seed gave two sequences")
	}
	if cmp.Equal(first, other) {
		t.Error("two seeds gave one sequence")
	}
	n := 0
	for _, hit := range first {
		if hit {
			n++
		}
	}
	if n < 250 || n > 350 { // the seed is fixed, so this cannot fail by chance
		t.Errorf("struck %d of 1000, want about 300", n)
	}
}

func TestBatchFaultsMeetTheirRecipientsOrAll(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		fault Fault
		want  []Answer
	}{
		{"business refuses the recipients it matches", Fault{Kind: Business, Recipient: "b"}, []Answer{Accepted, Refused, Accepted}},
		{"business without a pattern refuses all", Fault{Kind: Business}, []Answer{Refused, Refused, Refused}},
		{"a cut loses the answer for all", Fault{Kind: CutAfter, Recipient: "b"}, []Answer{Lost, Lost, Lost}},
		{"a fault for nobody does nothing", Fault{Kind: CutAfter, Recipient: "z"}, []Answer{Accepted, Accepted, Accepted}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sim, url := serve(t, Options{})
			must(t, sim.Behave("zhaohu", Behaviour{Faults: []Fault{test.fault}}))
			_, _ = try(t, "POST", url+"/zhaohu/im/v1/notify", `{"receivers":"a,b,c","text":"x"}`) // some are cut
			var got []Answer
			for _, a := range sim.Arrivals(Filter{}) {
				got = append(got, a.Answer)
			}
			if !cmp.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestLimitCountsASlidingWindow(t *testing.T) {
	t.Parallel()
	start := time.Now()
	at := func(w *window, ms int) time.Duration { return w.admit(start.Add(time.Duration(ms) * time.Millisecond)) }
	t.Run("without lockout", func(t *testing.T) {
		t.Parallel()
		w := newWindow(&Limit{Max: 2, Per: seconds1()})
		for _, step := range []struct {
			ms   int
			want time.Duration
		}{{0, 0}, {900, 0}, {950, 50 * time.Millisecond}, {1000, 0}, {1800, 100 * time.Millisecond}, {1900, 0}} {
			if got := at(w, step.ms); got != step.want {
				t.Errorf("at %d ms: got %s, want %s", step.ms, got, step.want)
			}
		}
	})
	t.Run("with lockout", func(t *testing.T) {
		t.Parallel()
		w := newWindow(&Limit{Max: 1, Per: seconds1(), Lockout: posthouse.Duration(10 * time.Second)})
		for _, step := range []struct {
			ms   int
			want time.Duration
		}{{0, 0}, {500, 10 * time.Second}, {5500, 5 * time.Second}, {10500, 0}} {
			if got := at(w, step.ms); got != step.want {
				t.Errorf("at %d ms: got %s, want %s", step.ms, got, step.want)
			}
		}
	})
}

func TestLimitAnswersTooFastAndCountsViolations(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	must(t, sim.Behave("tianyuan", Behaviour{Limit: &Limit{Max: 1, Per: posthouse.Duration(time.Hour)}}))
	must(t, sim.Behave("generic", Behaviour{Limit: &Limit{Max: 1, Per: posthouse.Duration(time.Hour)}}))
	// What is left of the hour is less by the time between the two requests.
	for _, want := range []string{`"code":0`, `"code":2001,"msg":"too many requests","retryAfter":3(600|5\d\d)\b`} {
		if got, err := tianyuan(t, url, "u"); err != nil || !regexp.MustCompile(want).MatchString(got.body) {
			t.Errorf("got %s %v, want %s", got.body, err, want)
		}
	}
	call(t, "POST", url+"/generic/send", "{}")
	if got := call(t, "POST", url+"/generic/send", "{}"); got.status != 429 || !regexp.MustCompile(`^3(600|5\d\d)$`).MatchString(got.header.Get("Retry-After")) {
		t.Errorf("generic: got %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
	}
	if got := sim.Status().Providers["tianyuan"]; got.Violations != 1 || got.Refused != 1 {
		t.Errorf("got %+v, want one violation", got)
	}
}

func TestDelaysAddUpAndStayWithinTheirJitter(t *testing.T) {
	t.Parallel()
	f := newFake(table(t.Context(), Options{}, newPhones())[0], Options{Seed: 1})
	f.behave(Behaviour{Faults: []Fault{
		{Kind: Latency, Latency: seconds1()},
		{Kind: ServerError, Latency: seconds1(), Jitter: seconds1()},
		{Kind: Latency, Latency: seconds1()}, // after the one that decides: no effect
	}})
	low, high := time.Hour, time.Duration(0)
	for range 1000 {
		v := f.decide(time.Now(), order{messages: []message{{user: "u"}}})
		low, high = min(low, v.delay), max(high, v.delay)
	}
	if low < time.Second || low > 1100*time.Millisecond || high > 3*time.Second || high < 2900*time.Millisecond {
		t.Errorf("delays from %s to %s, want 1s to 3s", low, high)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := New(Options{}).Wait(ctx, func(Totals) bool { return false })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestALimitThatMovesCountsWhatWasLetIn(t *testing.T) {
	t.Parallel()
	start := time.Now()
	let := func(w *window, n, ms int) (in int) {
		for range n {
			if w.admit(start.Add(time.Duration(ms)*time.Millisecond)) == 0 {
				in++
			}
		}
		return in
	}
	w := newWindow(&Limit{Max: 3, Per: seconds1()})
	var got []int
	for _, step := range []struct{ max, ms int }{{3, 0}, {5, 500}, {2, 900}, {2, 1000}, {4, 1600}} {
		w = w.changed(&Limit{Max: step.max, Per: seconds1()})
		got = append(got, let(w, 10, step.ms))
	}
	// After 3 and 2 more of a wider one, a narrow one lets none in until the last two are a second old.
	if want := []int{3, 2, 0, 0, 4}; !cmp.Equal(got, want) {
		t.Errorf("let in %v, want %v", got, want)
	}
	if w.changed(nil) != nil {
		t.Error("no limit leaves a window")
	}
}
