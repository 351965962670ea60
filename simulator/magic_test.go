package simulator

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// outcome is a request as the client saw it: "cut", or the status and the business code.
func outcome(t *testing.T, url, user string) string {
	t.Helper()
	got, err := tianyuan(t, url, user)
	if err != nil {
		return "cut"
	}
	if _, rest, ok := strings.Cut(got.body, `"code":`); ok && got.status == 200 && !strings.Contains(got.body, "rubbish") {
		code, _, _ := strings.Cut(rest, ",")
		return "200/" + code
	}
	return strconv.Itoa(got.status)
}

func TestMagicRecipients(t *testing.T) {
	t.Parallel()
	sim, url := serve(t, Options{})
	for user, want := range map[string][]string{
		"fail-recipient": {"200/1001", "200/1001"},
		"refuse-content": {"200/1002", "200/1002"},
		"busy-twice":     {"200/5000", "200/5000", "200/0", "200/0"},
		"always-busy-7":  {"200/5000", "200/5000", "200/5000"},
		"too-fast":       {"200/2001", "200/0"},
		"rate-limited":   {"429", "200/0"},
		"server-error-x": {"503", "503"},
		"cut-before":     {"cut", "200/0"},
		"lost-answer-7":  {"cut", "200/0"},
		"garbage":        {"200", "200/0"},
		"redirect":       {"302", "302"},
		"Busy-twice":     {"200/0"},
		"busy-twicer":    {"200/0"},
		"u1":             {"200/0"},
	} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			var got []string
			for range want {
				got = append(got, outcome(t, url, user))
			}
			if !cmp.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
	t.Cleanup(func() { // the subtests are through
		if got := sim.Count("tianyuan", "lost-answer-7"); got.Taken != 2 {
			t.Errorf("lost-answer-7: got %+v, want 2 taken", got)
		}
		if got := sim.Count("tianyuan", "cut-before"); got.Arrivals != 1 {
			t.Errorf("cut-before: got %+v, want 1 arrival", got)
		}
	})
}

func TestEachTrickIsInTheTableOfKinds(t *testing.T) {
	t.Parallel()
	for _, trick := range tricks {
		if got := (Behaviour{Faults: []Fault{trick.fault}}).check(); len(got) > 0 {
			t.Errorf("%s: %v", trick.name, got)
		}
	}
}

func TestMagicRecipientsThatWait(t *testing.T) {
	t.Parallel()
	f := newFake(table(t.Context(), Options{}, newPhones())[0], Options{})
	slow := f.decide(time.Now(), order{messages: []message{{user: "slow-1"}}})
	if slow.delay != 2*time.Second || slow.fault.Kind != "" {
		t.Errorf("slow-1: got %+v, want a delay of 2s only", slow)
	}
	hang := f.decide(time.Now(), order{messages: []message{{user: "hang"}}})
	again := f.decide(time.Now(), order{messages: []message{{user: "hang"}}})
	if hang.fault.Kind != Hang || again.fault.Kind != "" {
		t.Errorf("hang: got %q and %q, want it once", hang.fault.Kind, again.fault.Kind)
	}
}

func TestMagicIsCountedByMessage(t *testing.T) {
	t.Parallel()
	f := newFake(table(t.Context(), Options{}, newPhones())[0], Options{})
	for _, step := range []struct {
		message
		want bool
	}{
		{message{user: "too-fast", key: "1"}, true},
		{message{user: "too-fast", key: "1"}, false},
		{message{user: "too-fast", key: "2"}, true},
		{message{user: "too-fast", text: "a"}, true},
		{message{user: "too-fast", text: "a"}, false},
		{message{user: "too-fast", text: "b"}, true},
	} {
		if got := f.decide(time.Now(), order{messages: []message{step.message}}).refusals != nil; got != step.want {
			t.Errorf("%+v: refused %t, want %t", step.message, got, step.want)
		}
	}
}

func TestPlainRecipientsHaveNoMagic(t *testing.T) {
	t.Parallel()
	_, url := serve(t, Options{PlainRecipients: true})
	if got := outcome(t, url, "lost-answer"); got != "200/0" {
		t.Errorf("got %s, want 200/0", got)
	}
}
