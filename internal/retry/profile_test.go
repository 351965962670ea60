package retry_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/retry"
)

const (
	s = time.Second
	m = time.Minute
	h = time.Hour
)

// life is every wait of a delivery that fails with one class until it is given up.
func life(t *testing.T, p retry.Profile, class posthouse.Class) (waits []time.Duration) {
	t.Helper()
	for tries := 0; tries < 50; tries++ {
		d := retry.Decide(p, class, tries, 0, 0)
		if d.GiveUp {
			return waits
		}
		waits = append(waits, d.Wait)
	}
	t.Fatal("it is never given up")
	return nil
}

func named(t *testing.T, name string) retry.Profile {
	t.Helper()
	p, ok := retry.Named(name)
	if !ok || p.Name != name {
		t.Fatalf("Named(%q) = %+v, %v", name, p, ok)
	}
	return p
}

// DUTY-6, FLOW-13, FLEET-7.
func TestProfilesWaitAsTheirRequirementsSay(t *testing.T) {
	t.Parallel()
	steps := []time.Duration{m, 3 * m, 5 * m, 10 * m, 30 * m, h, 3 * h}
	for _, c := range []struct {
		profile string
		class   posthouse.Class
		want    []time.Duration
	}{
		{"default", posthouse.ClassTransient, steps},
		{"default", posthouse.ClassUnknown, steps},
		{"default", posthouse.ClassContent, nil},
		{"flow", posthouse.ClassTransient, steps},
		{"duty", posthouse.ClassTransient, []time.Duration{0, 0}},
		{"duty", posthouse.ClassUnknown, []time.Duration{0, 0}},
		{"wecom", posthouse.ClassTransient, []time.Duration{s, 2 * s, 4 * s}},
		{"wecom", posthouse.ClassUnknown, []time.Duration{2 * s, 4 * s, 8 * s, 16 * s, 32 * s}},
		{"wecom", posthouse.ClassAuth, []time.Duration{5 * m}},
		{"wecom", posthouse.ClassRecipient, nil},
		{"wecom", posthouse.ClassRequest, nil},
	} {
		t.Run(c.profile+" "+string(c.class), func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, life(t, named(t, c.profile), c.class)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatMayHaveArrivedIsRepeatedOnlyWhereTheProfileSaysSo(t *testing.T) {
	t.Parallel()
	for profile, want := range map[string]posthouse.Policy{"default": "", "wecom": posthouse.Retry, "duty": posthouse.Retry, "flow": posthouse.Retry} {
		if got := named(t, profile).OnUnknown; got != want {
			t.Errorf("%s: got %q, want %q", profile, got, want)
		}
	}
}

func TestWecomWaitsLongerForARateLimitUpToAnHour(t *testing.T) {
	t.Parallel()
	waits := life(t, named(t, "wecom"), posthouse.ClassRate)
	if len(waits) != 10 || waits[0] != m || waits[1] != 90*s || waits[9] > h || waits[9] < 38*m {
		t.Errorf("got %v, want 10 waits from 1m by 1.5", waits)
	}
}

func TestWhatBlocksAnAccountBurnsNothing(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"default", "flow", "duty"} {
		for _, class := range posthouse.Classes() {
			if !class.Blocks() {
				continue
			}
			d := retry.Decide(named(t, profile), class, 1000, 0, 0)
			if d.Burn || d.GiveUp || d.Wait == 0 {
				t.Errorf("%s, %s: got %+v, want a wait and nothing burned", profile, class, d)
			}
		}
	}
}

func TestProfilesAreFreshEachTime(t *testing.T) {
	t.Parallel()
	p := named(t, "default")
	p.Classes[posthouse.ClassRate] = retry.Terms{Tries: 1}
	p.Schedule.Steps[0] = 0
	q := named(t, "default")
	if q.Classes[posthouse.ClassRate].Tries != 0 || q.Schedule.Steps[0] != m {
		t.Error("a change of one profile shows in another")
	}
}

func TestForPutsTheChannelsOwnSettingsIntoItsProfile(t *testing.T) {
	t.Parallel()
	zero, minute, jitter := posthouse.Duration(0), posthouse.Duration(m), 0.5
	for name, c := range map[string]struct {
		settings posthouse.ChannelSettings
		class    posthouse.Class
		want     []time.Duration
	}{
		"nothing set":          {posthouse.ChannelSettings{}, posthouse.ClassTransient, []time.Duration{m, 3 * m, 5 * m, 10 * m, 30 * m, h, 3 * h}},
		"duty":                 {posthouse.ChannelSettings{Profile: "duty"}, posthouse.ClassTransient, []time.Duration{0, 0}},
		"duty, each minute":    {posthouse.ChannelSettings{Profile: "duty", Every: &minute}, posthouse.ClassTransient, []time.Duration{0, 0}},
		"duty, continuous":     {posthouse.ChannelSettings{Profile: "duty", Every: &zero}, posthouse.ClassTransient, []time.Duration{m, m}},
		"another profile":      {posthouse.ChannelSettings{Profile: "wecom"}, posthouse.ClassTransient, []time.Duration{s, 2 * s, 4 * s}},
		"own tries":            {posthouse.ChannelSettings{Tries: 3}, posthouse.ClassTransient, []time.Duration{m, 3 * m}},
		"own backoff":          {posthouse.ChannelSettings{Tries: 4, Backoff: []posthouse.Duration{posthouse.Duration(s)}}, posthouse.ClassTransient, []time.Duration{s, s, s}},
		"own backoff of none":  {posthouse.ChannelSettings{Profile: "duty", Every: &zero, Backoff: []posthouse.Duration{0}}, posthouse.ClassTransient, []time.Duration{0, 0}},
		"own tries, own class": {posthouse.ChannelSettings{Profile: "wecom", Tries: 1, Jitter: &jitter}, posthouse.ClassAuth, []time.Duration{5 * m}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, problems := retry.For(c.settings)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if diff := cmp.Diff(c.want, life(t, p, c.class)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// DUTY-5, DUTY-9.
func TestDutyRunsEachMinuteAndRetriesTimeouts(t *testing.T) {
	t.Parallel()
	p, problems := retry.For(posthouse.ChannelSettings{Profile: "duty"})
	if len(problems) > 0 || p.Every != m || p.OnUnknown != posthouse.Retry {
		t.Errorf("got %s, %s, %v, want 1m and retry", p.Every, p.OnUnknown, problems)
	}
	zero := posthouse.Duration(0)
	p, _ = retry.For(posthouse.ChannelSettings{Profile: "duty", Every: &zero, OnUnknown: posthouse.Hold})
	if p.Every != 0 || p.OnUnknown != posthouse.Hold {
		t.Errorf("got %s, %s, want the channel's own", p.Every, p.OnUnknown)
	}
}

func TestForSpreadsAndProbesAsTheChannelSays(t *testing.T) {
	t.Parallel()
	jitter := 1.0
	p, _ := retry.For(posthouse.ChannelSettings{Jitter: &jitter, ProbeAfter: posthouse.Duration(m), ProbeMax: posthouse.Duration(2 * m)})
	for class, want := range map[posthouse.Class]time.Duration{
		posthouse.ClassTransient: 2 * m, posthouse.ClassAuth: 2 * m, posthouse.ClassAccount: 2 * m, posthouse.ClassRate: m,
	} {
		if got := retry.Decide(p, class, 0, 0, 1).Wait; got != want {
			t.Errorf("%s: got %s, want %s", class, got, want)
		}
	}
	if got, want := retry.Decide(p, posthouse.ClassAuth, 9, 0, 0).Wait, 2*m; got != want {
		t.Errorf("the longest probe: got %s, want %s", got, want)
	}
}

func TestCheckNamesEveryProblem(t *testing.T) {
	t.Parallel()
	jitter, every := 1.5, posthouse.Duration(-s)
	_, got := retry.For(posthouse.ChannelSettings{
		Profile: "x", Tries: -1, Backoff: []posthouse.Duration{0, -1}, Jitter: &jitter, Every: &every, OnUnknown: "maybe",
		ProbeAfter: posthouse.Duration(h), ProbeMax: posthouse.Duration(m),
	})
	want := []posthouse.Problem{
		{Path: "profile", Message: `there is no profile "x"; the profiles are default, duty, flow, wecom`},
		{Path: "tries", Message: "-1 is not between 1 and 1000"},
		{Path: "backoff[1]", Message: "-1ns is not between 0s and 30d"},
		{Path: "jitter", Message: "1.5 is not between 0 and 1"},
		{Path: "every", Message: "-1s is not between 0s and 30d"},
		{Path: "on_unknown", Message: `"maybe" is not a policy; the policies are retry, hold, query, assume_sent`},
		{Path: "probe_max", Message: "1m is shorter than probe_after, 1h"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := retry.Check(posthouse.ChannelSettings{Backoff: make([]posthouse.Duration, 101)}); len(got) != 1 {
		t.Errorf("101 waits: got %v, want one problem", got)
	}
}

func ExampleDecide() {
	p, _ := retry.Named("default")
	fmt.Printf("%+v\n", retry.Decide(p, posthouse.ClassTransient, 0, 0, 0))
	fmt.Printf("%+v\n", retry.Decide(p, posthouse.ClassTransient, 7, 0, 0))
	fmt.Printf("%+v\n", retry.Decide(p, posthouse.ClassRate, 0, 90*time.Second, 0))
	// Output:
	// {Wait:1m0s GiveUp:false Burn:true}
	// {Wait:0s GiveUp:true Burn:true}
	// {Wait:1m30s GiveUp:false Burn:false}
}
