package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/simulator"
	"github.com/posthouse/posthouse/wire"
)

// PULL-14
func TestANativeAgentSendsAndReports(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ids := h.send("13800138000", "13900000001", "13900000003", "13900000009")
	var got Totals
	for h.states(ids[2])[0] != posthouse.Sent { // its retries are due a moment later
		part, err := h.run(t.Context(), h.options())
		must(t, err)
		got.Sent, got.NotSent, got.Unknown = got.Sent+part.Sent, got.NotSent+part.NotSent, got.Unknown+part.Unknown
	}
	if want := (Totals{Sent: 2, NotSent: 3, Unknown: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want := []posthouse.State{posthouse.Sent, posthouse.Failed, posthouse.Sent, posthouse.Unknown}
	if diff := cmp.Diff(want, h.states(ids...)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if d := h.delivery(ids[0]); !strings.HasPrefix(d.ProviderRef, "sm-") || d.Attempts != 1 {
		t.Errorf("got provider's id %q after %d attempts, want the phone's after 1", d.ProviderRef, d.Attempts)
	}
}

// PULL-1, PULL-5, PULL-6
func TestAnAgentOfTheSMSProtocolSendsAndReports(t *testing.T) {
	t.Parallel()
	for name, login := range map[string]func(*house, *Options){
		"shared password": func(_ *house, o *Options) { o.ID, o.Key, o.User, o.Password = "phone-2", "", user, password },
		"its own key":     func(h *house, o *Options) { o.ID, o.Key = "phone-3", h.agent("phone-3", "sms") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, withSMS)
			door := newFrontDoor(Options{URL: h.url, User: user, Password: password, HTTP: http.DefaultClient})
			tasks := map[string]int{"13800138000": taskSent, "13900000002": taskFailed, "13900000009": taskFailed}
			ids := map[string]string{}
			for number := range tasks {
				var out struct {
					Data struct {
						ID string `json:"task_id"`
					}
				}
				must(t, door.call(t.Context(), "POST", "/send", map[string]string{"phone_number": number, "content": "您的验证码是123456"}, &out))
				ids[number] = out.Data.ID
			}
			o := h.options(func(o *Options) { o.Protocol, o.Poll = SMS, time.Millisecond })
			login(h, &o)
			got, err := h.run(t.Context(), o)
			must(t, err)
			if want := (Totals{Sent: 1, NotSent: 1, Unknown: 1}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			for number, want := range tasks {
				var out struct{ Data struct{ Status int } }
				must(t, door.call(t.Context(), "GET", "/task/"+ids[number], nil, &out))
				if out.Data.Status != want {
					t.Errorf("%s: got status %d, want %d", number, out.Data.Status, want)
				}
			}
		})
	}
}

func TestWhatNobodyKnowsIsTriedAgainWhereThatIsWanted(t *testing.T) {
	t.Parallel()
	for want, retry := range map[bool]bool{true: true, false: false} {
		f := frontDoor{o: Options{ID: "phone-1", RetryUnknown: retry}}
		got := f.wordsFor(posthouse.AgentReport{Outcome: posthouse.OutcomeUnknown, Error: "no answer"})
		if got.Status != taskFailed || got.Retry != want || got.Error != "nobody knows whether it was sent: no answer" {
			t.Errorf("RetryUnknown %t: got %+v", retry, got)
		}
	}
}

func TestAStopFinishesOneAndGivesTheOthersBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ids := h.send("13800138000", "13800138001", "13800138002")
	ctx, stop := context.WithCancel(t.Context())
	got, err := h.run(ctx, h.options(func(o *Options) {
		phone := o.Phone
		o.Phone = phoneFunc(func(ctx context.Context, text Text) Result {
			stop()
			return phone.Send(ctx, text)
		})
	}))
	must(t, err)
	if want := (Totals{Sent: 1, Given: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want := []posthouse.State{posthouse.Sent, posthouse.Pending, posthouse.Pending}
	if diff := cmp.Diff(want, h.states(ids...)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if d := h.delivery(ids[1]); d.Attempts != 0 || d.Tries != 0 {
		t.Errorf("what was given back has %d attempts and %d tries, want none", d.Attempts, d.Tries)
	}
}

// PULL-14: the journal knows what was under way when the agent died.
func TestWhatWasUnderWayInACrashIsUnknownAndNotSentAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ids := h.send("13800138000", "13800138001")
	journal := filepath.Join(t.TempDir(), "journal")
	o := h.options(func(o *Options) {
		phone := o.Phone
		o.Journal = journal
		o.Phone = phoneFunc(func(ctx context.Context, text Text) Result {
			phone.Send(ctx, text)
			runtime.Goexit() // it has left, and the agent dies before it knows
			return Result{}
		})
	})
	dead := make(chan struct{})
	go func() {
		defer close(dead)
		_, _ = h.run(t.Context(), o) // it never comes back
	}()
	<-dead
	if diff := cmp.Diff([]posthouse.State{posthouse.Sending, posthouse.Sending}, h.states(ids...)); diff != "" {
		t.Fatalf("after the crash (-want +got):\n%s", diff)
	}
	_, err := h.run(t.Context(), h.options(func(o *Options) { o.Journal = journal }))
	must(t, err)
	if diff := cmp.Diff([]posthouse.State{posthouse.Unknown, posthouse.Sent}, h.states(ids...)); diff != "" {
		t.Errorf("after the next start (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"13800138000": 1, "13800138001": 1}, h.arrived()); diff != "" {
		t.Errorf("arrivals (-want +got):\n%s", diff)
	}
}

// PULL-5: a lost answer is no lost task.
func TestLostAnswersLoseNothing(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/claims", "/start", "/report"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			ids := h.send("13800138000", "13800138001")
			got, err := h.run(t.Context(), h.options(losing(path, 1)))
			must(t, err)
			if want := (Totals{Sent: 2}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if diff := cmp.Diff([]posthouse.State{posthouse.Sent, posthouse.Sent}, h.states(ids...)); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]int{"13800138000": 1, "13800138001": 1}, h.arrived()); diff != "" {
				t.Errorf("arrivals (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAReportThatWasNeverHeardIsToldByTheNextStart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ids := h.send("13800138000")
	journal := filepath.Join(t.TempDir(), "journal")
	ctx, stop := context.WithCancel(t.Context())
	var deaf atomic.Bool
	_, err := h.run(ctx, h.options(func(o *Options) {
		o.Journal = journal
		o.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/report") {
				deaf.Store(true)
				stop()
				return nil, errLost
			}
			return http.DefaultTransport.RoundTrip(r)
		})}
	}))
	must(t, err)
	if !deaf.Load() || h.states(ids[0])[0] != posthouse.Sending {
		t.Fatalf("got %v after a report that was not heard (%t), want it to be held", h.states(ids[0]), deaf.Load())
	}
	got, err := h.run(t.Context(), h.options(func(o *Options) { o.Journal = journal }))
	must(t, err)
	if h.states(ids[0])[0] != posthouse.Sent || got.Sent != 0 {
		t.Errorf("got %v and %+v, want it reported as sent and not sent again", h.states(ids[0]), got)
	}
}

func TestAWrongLoginEndsTheAgent(t *testing.T) {
	t.Parallel()
	h := newHouse(t, withSMS)
	for name, test := range map[string]struct {
		change func(*Options)
		want   posthouse.Code
	}{
		"no such key":     {func(o *Options) { o.Key = "ph_nobody_nothing" }, posthouse.CodeUnauthorized},
		"another's key":   {func(o *Options) { o.ID = "phone-2" }, posthouse.CodeForbidden},
		"wrong password":  {func(o *Options) { o.Protocol, o.Key, o.User, o.Password = SMS, "", user, "guess" }, posthouse.CodeUnauthorized},
		"no such address": {func(o *Options) { o.URL += "/elsewhere" }, posthouse.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := h.run(t.Context(), h.options(test.change))
			if codeOf(err) != test.want {
				t.Errorf("got %v, want the code %s", err, test.want)
			}
		})
	}
}

// PULL-14: an idle agent hears of work without asking again.
func TestAnIdleAgentIsToldOfWork(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx, stop := context.WithCancel(t.Context())
	var claims atomic.Int32
	done := make(chan error, 1)
	asked := make(chan struct{}, 10)
	go func() {
		_, err := h.run(ctx, h.options(func(o *Options) {
			o.Once, o.Wait = false, time.Minute
			phone := o.Phone
			o.Phone = phoneFunc(func(ctx context.Context, text Text) Result {
				defer stop()
				return phone.Send(ctx, text)
			})
			o.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/claims") {
					claims.Add(1)
					asked <- struct{}{}
				}
				return http.DefaultTransport.RoundTrip(r)
			})}
		}))
		done <- err
	}()
	<-asked
	id := h.send("13800138000")[0]
	must(t, <-done)
	if got := h.states(id)[0]; got != posthouse.Sent || claims.Load() != 1 {
		t.Errorf("got %s after %d claims, want it sent after one that waited", got, claims.Load())
	}
}

func TestEitherFormOfThePendingTasksIsRead(t *testing.T) {
	t.Parallel()
	want := []smsTask{{"t1", "13800138000", "hello"}}
	for _, text := range []string{
		`[{"task_id":"t1","phone_number":"13800138000","content":"hello"}]`,
		`{"total_count":1,"app_id":"phone-1","tasks":[{"task_id":"t1","phone_number":"13800138000","content":"hello"}]}`,
	} {
		got, err := tasksOf(json.RawMessage(text))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
	if got, err := tasksOf(json.RawMessage(`"none"`)); err == nil {
		t.Errorf("a text was read as %v", got)
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		`the agent cannot start: url: it is ""; want one such as http://127.0.0.1:8080; app-id: it is missing: the id that the server knows the agent by; ` +
			`key: it is missing: the native protocol needs the agent's own API key; phone: there is nothing to send with`: {},
		`the agent cannot start: user: user and password are missing: the SMS protocol needs them, or an API key`: {
			URL: "http://a", ID: "b", Protocol: SMS, Phone: Paper(nil),
		},
		`the agent cannot start: protocol: "smpp" is not a protocol; native and sms are`: {URL: "http://a", ID: "b", Protocol: "smpp", Phone: Paper(nil)},
	} {
		if _, err := New(o); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// phoneFunc is a phone as a function.
type phoneFunc func(context.Context, Text) Result

func (f phoneFunc) Send(ctx context.Context, t Text) Result { return f(ctx, t) }

// roundTrip is a transport as a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Two apps on one journal would each forget what the other has sent.
func TestAJournalIsForOneApp(t *testing.T) {
	t.Parallel()
	o := Options{URL: "http://127.0.0.1:1", ID: "phone-1", Key: "ph_a_b", Journal: filepath.Join(t.TempDir(), "journal"), Phone: Paper(io.Discard), Log: quiet()}
	first, err := New(o)
	must(t, err)
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "another agent uses the journal") {
		t.Errorf("a second app on the journal: got %v", err)
	}
	must(t, first.Close())
	second, err := New(o)
	must(t, err)
	must(t, second.Close())
}

func TestAnAppThatRunsOnceDoesNotWaitForAServerForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("nobody there")
		app, err := New(Options{
			URL: "http://127.0.0.1:1", ID: "phone-1", User: user, Password: password, Protocol: SMS, Once: true, Phone: Paper(io.Discard), Log: quiet(),
			HTTP: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, away })},
		})
		must(t, err)
		if err := app.Run(t.Context()); !errors.Is(err, away) {
			t.Errorf("got %v, want that the server cannot be used", err)
		}
	})
}

// What a phone gets is handed in once; after a restart of the app it is a repeat to the server.
func TestWhatAPhoneGetsIsHandedIn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.send("13800138000")
	if _, err := h.run(t.Context(), h.options()); err != nil {
		t.Fatal(err)
	}
	must(t, h.sim.Reply("phones", simulator.Reply{User: "+8613800138000", Text: "1", Times: 2}))
	var calls atomic.Int32
	restart := func() *inbox {
		a, err := New(h.options(func(o *Options) {
			o.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/received") {
					calls.Add(1)
				}
				return http.DefaultTransport.RoundTrip(r)
			})}
		}))
		must(t, err)
		t.Cleanup(func() { a.Close() })
		return newInbox(a)
	}
	in := restart()
	for range 3 {
		must(t, in.look(t.Context()))
	}
	if got := calls.Load(); got != 1 || len(in.known) != 2 {
		t.Errorf("%d calls handed in %v, want one with both texts", got, in.known)
	}
	again := restart()
	must(t, again.look(t.Context()))
	results, err := again.to.received(t.Context(), []wire.ReceivedText{{ID: in.known[0], Sender: "x", Text: "1", ReceivedAt: time.Now()}})
	if err != nil || len(results) != 1 || !results[0].Repeated || calls.Load() != 3 {
		t.Errorf("after a restart: %+v, %v, %d calls", results, err, calls.Load())
	}
	if err := h.sim.Reply("phones", simulator.Reply{User: "nobody"}); posthouse.CodeOf(err) != posthouse.CodeNotFound {
		t.Errorf("a reply of nobody's: %v", err)
	}
}

// An app that runs once, as cron has it, hands in what its phone has got before it ends, also where it has nothing to send.
func TestAnAppThatRunsOnceHandsInWhatThePhoneHasGot(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var texts received
	for i := range inboxAtOnce + 20 { // a look while it fetches hands in one call's
		texts = append(texts, wire.ReceivedText{ID: fmt.Sprint("t", i), Sender: "+8613800138000", Text: "1", ReceivedAt: time.Now()})
	}
	var handed sync.Map // a call that the end cuts short is made again
	_, err := h.run(t.Context(), h.options(func(o *Options) {
		o.Once, o.Phone = true, struct {
			Phone
			received
		}{o.Phone, texts}
		o.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, "/received") {
				return http.DefaultTransport.RoundTrip(r)
			}
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			for _, id := range regexp.MustCompile(`"text_id":"(\w+)"`).FindAllStringSubmatch(string(body), -1) {
				handed.Store(id[1], true)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			return http.DefaultTransport.RoundTrip(r)
		})}
	}))
	for _, text := range texts {
		if _, there := handed.Load(text.ID); !there || err != nil {
			t.Fatalf("the text %s was not handed in: %v", text.ID, err)
		}
	}
}

// received is what a phone has got.
type received []wire.ReceivedText

func (r received) Received(context.Context) ([]wire.ReceivedText, error) { return r, nil }
