package read

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// kept are counts that a test made up.
type kept struct {
	minutes []work.Minute
	depths  []work.Depth
	gates   []work.Gate
}

func (k kept) MinutesOf(context.Context, string, time.Time) ([]work.Minute, error) {
	return k.minutes, nil
}

func (k kept) HoursOf(context.Context, string, time.Time) ([]work.Minute, error) {
	return k.minutes[:1], nil
}

// Channel is one whose promise for what is of high priority is half a minute.
func (k kept) Channel(_, name string) *state.Channel {
	if name != "a" {
		return nil
	}
	s, err := state.Resolve(posthouse.Channel{Name: name, ChannelSettings: posthouse.ChannelSettings{Promise: map[posthouse.Priority]posthouse.Duration{posthouse.High: posthouse.Duration(30 * time.Second)}}}, state.Opened{}, time.UTC)
	if err != nil {
		panic(err)
	}
	return &state.Channel{Settings: s}
}

func (k kept) Gates(context.Context, string) ([]work.Gate, error) { return k.gates, nil }

// Tightest is a full window of the channel c, of which nothing was counted.
func (k kept) Tightest(context.Context, string) (map[string]wire.Window, error) {
	return map[string]wire.Window{"c": {Of: "channel", Max: 5, Used: 5}}, nil
}

func (k kept) Depths() ([]work.Depth, time.Time) { return k.depths, time.Unix(60, 0).UTC() }

func TestAnOverviewIsMadeOfWhatIsCounted(t *testing.T) {
	t.Parallel()
	first, second, now := time.Unix(0, 0).UTC(), time.Unix(60, 0).UTC(), time.Unix(90, 0).UTC()
	ended := func(at time.Time, channel string, class posthouse.Class, n int) work.Minute {
		return work.Minute{MinuteKey: work.MinuteKey{At: at, Channel: channel, Outcome: string(class)}, N: n}
	}
	open := func(tenant string, p posthouse.Priority, s posthouse.State, n int, oldest time.Time) work.Depth {
		return work.Depth{Lane: work.Lane{Tenant: tenant, Channel: "a", Priority: p}, State: s, Count: n, Oldest: oldest}
	}
	k := kept{
		minutes: []work.Minute{
			ended(first, "a", work.Accepted, 9), ended(first, "b", work.Accepted, 2), ended(first, "a", posthouse.ClassOK, 5), ended(first, "a", posthouse.ClassRate, 1), ended(first, "b", posthouse.ClassRecipient, 2),
			ended(second, "a", posthouse.ClassUnknown, 3), ended(second, "a", posthouse.ClassRate, 2), ended(second, "a", work.GaveUp, 1),
		},
		depths: []work.Depth{
			open("t1", posthouse.High, posthouse.Pending, 2, first), open("t1", posthouse.High, posthouse.Pending, 1, second), open("t1", posthouse.High, posthouse.Unknown, 4, first),
			open("t1", posthouse.Low, posthouse.Pending, 9, now.Add(time.Hour)), open("t1", posthouse.Low, posthouse.Quarantined, 1, time.Time{}), open("t2", posthouse.High, posthouse.Sending, 7, first),
		},
	}
	for account, until := range map[string]time.Duration{"": time.Hour, "1": time.Hour, "2": time.Minute, "3": 0} {
		k.gates = append(k.gates, work.Gate{Tenant: "t1", Channel: "a", Account: account, Until: now.Add(until)})
	}
	k.gates = append(k.gates, work.Gate{Tenant: "t1", Channel: "b", Account: "1", Until: now.Add(time.Second)})
	got, err := Overviewer{k, k, k, k, k}.Overview(t.Context(), "t1", "", now, first)
	want := wire.Overview{
		At:        now,
		Step:      posthouse.Duration(time.Minute),
		Minutes:   []wire.OverviewMinute{{At: first, Accepted: 11, Sent: 5, Failed: 2, Again: 1}, {At: second, Unknown: 3, Failed: 1, Again: 1}},
		CountedAt: second,
		Lanes: []wire.OverviewLane{
			{Channel: "a", Priority: posthouse.High, Pending: 3, Unknown: 4, Oldest: first, Promise: posthouse.Duration(30 * time.Second), Late: true},
			{Channel: "a", Priority: posthouse.Low, Pending: 9, Quarantined: 1, Promise: posthouse.Duration(time.Hour)},
		},
		Parked:  []wire.OverviewParked{{Channel: "a", Accounts: 2, Until: now.Add(time.Hour)}, {Channel: "b", Accounts: 1, Until: now.Add(time.Second)}},
		Trouble: []wire.OverviewTrouble{{Channel: "a", Class: posthouse.ClassRate, N: 3}, {Channel: "a", Class: posthouse.ClassUnknown, N: 3}, {Channel: "b", Class: posthouse.ClassRecipient, N: 2}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, err = Overviewer{k, k, k, k, k}.Overview(t.Context(), "t1", "b", now, first)
	want = wire.Overview{
		At: now, Step: posthouse.Duration(time.Minute), Minutes: []wire.OverviewMinute{{At: first, Accepted: 2, Failed: 2}}, CountedAt: second,
		Lanes: []wire.OverviewLane{}, Parked: []wire.OverviewParked{{Channel: "b", Accounts: 1, Until: now.Add(time.Second)}}, Trouble: []wire.OverviewTrouble{{Channel: "b", Class: posthouse.ClassRecipient, N: 2}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, of a channel (-want +got):\n%s", err, diff)
	}
	channels, err := Overviewer{k, k, k, k, k}.ByChannel(t.Context(), "t1", now, first)
	if diff := cmp.Diff([]wire.OverviewChannel{
		{Channel: "a", Minutes: []wire.OverviewMinute{{At: first, Accepted: 9, Sent: 5, Failed: 1, Again: 2, Unknown: 3}}},
		{Channel: "b", Minutes: []wire.OverviewMinute{{At: first, Accepted: 2, Failed: 2}}},
		{Channel: "c", Minutes: []wire.OverviewMinute{}, Tightest: &wire.Window{Of: "channel", Max: 5, Used: 5}},
	}, channels); err != nil || diff != "" {
		t.Errorf("%v, by channel (-want +got):\n%s", err, diff)
	}
	got, err = Overviewer{k, k, k, k, k}.Overview(t.Context(), "t1", "", now, now.Add(-24*time.Hour))
	if err != nil || got.Step.Std() != time.Hour || len(got.Minutes) != 1 {
		t.Errorf("a day is told by %s: %+v, %v", got.Step, got.Minutes, err)
	}
}
