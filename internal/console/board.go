package console

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// board is what the list of channels shows.
type board struct {
	Rows    []boardRow
	States  []choice // to choose from, with their counts
	State   string   // that is chosen
	Words   string   // that names or titles have
	Any     bool     // there is a channel
	Since   time.Time
	Next    string // the query of the next page, empty for none
	Counted time.Time
}

// boardRow is a channel as the board shows it.
type boardRow struct {
	posthouse.Channel
	Called    string // its title, or that of its driver
	Sent, Bad int    // attempts of the hour
	Unsure    int    // those of which nobody knows whether they arrived
	Members   int    // unsent members of running campaigns
	Line      string // the points of what was sent in the hour
	BadLine   string // of what was refused for good, empty for none
	Backlog   int
	Stuck     int // unknown and quarantined
	Oldest    time.Time
	Late      bool
	Parked    int // accounts that the provider refuses
	Full      *wire.Window
}

// choice is a value that a list can be narrowed to, and how many of the list have it.
type choice struct {
	Name, Word string
	N          int
	Link       string
	Current    bool
}

const (
	// boardLength is how many channels are on a page.
	boardLength = 100
	// boardHour is how far back the board counts, in minutes, and boardSlots into how many parts its lines are cut.
	boardHour, boardSlots = 60, 12
	// stateHalted chooses all channels that do not send.
	stateHalted = "halted"
)

func showChannels(v *visit) error {
	list, err := v.call().Channels.List(v.ctx())
	if err != nil {
		return err
	}
	o, err := v.call().OverviewByChannel(v.ctx(), boardHour)
	if err != nil {
		return err
	}
	b := board{State: v.query("state"), Words: v.query("q"), Any: len(list) > 0, Since: o.At.Add(-boardHour * time.Minute).Truncate(time.Minute), Counted: o.CountedAt}
	b.States = b.statesOf(v, list)
	list = slices.DeleteFunc(list, func(c posthouse.Channel) bool { return !b.shows(c) })
	titles, err := driverTitles(v)
	if err != nil {
		return err
	}
	running, err := v.call().Campaigns.List(v.ctx(), posthouse.CampaignRunning, client.Filter{Limit: mostCampaigns})
	if err = hiddenFrom(err); err != nil {
		return err
	}
	for _, c := range list {
		b.Rows = append(b.Rows, rowOf(c, cmp.Or(c.Title, titles[cmp.Or(c.Preset, c.Driver)], titles[c.Driver]), o))
		for i := range running.Items {
			if of := &running.Items[i]; of.Channel == c.Name {
				b.Rows[len(b.Rows)-1].Members += int(of.Counts.Unsent)
			}
		}
	}
	// What needs somebody stands first.
	slices.SortStableFunc(b.Rows, func(x, y boardRow) int { return cmp.Compare(x.rank(), y.rank()) })
	b.Rows, b.Next = cut(v, b.Rows, boardLength)
	return v.show("channels", "channels", b)
}

// statesOf are the states of channels that there are, with how many have each.
func (b *board) statesOf(v *visit, list []posthouse.Channel) []choice {
	counts := map[string]int{}
	for _, c := range list {
		counts[string(cmp.Or(c.State, posthouse.ChannelOpen))]++
	}
	at := func(state string) string {
		q := url.Values{}
		for name, value := range map[string]string{"state": state, "q": b.Words} {
			if value != "" {
				q.Set(name, value)
			}
		}
		return v.at("channels") + encoded(q)
	}
	out := []choice{{Word: "all_channels", N: len(list), Link: at(""), Current: b.State == ""}}
	if n := len(list) - counts[string(posthouse.ChannelOpen)]; n > 0 || b.State == stateHalted {
		out = append(out, choice{Name: stateHalted, Word: "halted_only", N: n, Link: at(stateHalted), Current: b.State == stateHalted})
	}
	for _, s := range posthouse.ChannelStates() {
		if n := counts[string(s)]; n > 0 || b.State == string(s) {
			out = append(out, choice{Name: string(s), Word: "channel_" + string(s), N: n, Link: at(string(s)), Current: b.State == string(s)})
		}
	}
	return out
}

// encoded is a query with its mark, empty for none.
func encoded(q url.Values) string {
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// shows reports whether a channel is one of those that were asked for.
func (b *board) shows(c posthouse.Channel) bool {
	switch {
	case b.State == stateHalted && isOpen(c), b.State != "" && b.State != stateHalted && b.State != string(cmp.Or(c.State, posthouse.ChannelOpen)):
		return false
	}
	words := strings.ToLower(b.Words)
	return strings.Contains(strings.ToLower(c.Name), words) || strings.Contains(strings.ToLower(c.Title), words) || strings.Contains(c.Driver, words)
}

// driverTitles are the titles of the drivers by their names, in the visitor's language.
func driverTitles(v *visit) (map[string]string, error) {
	list, err := v.call().Channels.Drivers(v.ctx())
	if err != nil {
		return nil, hiddenFrom(err)
	}
	out := map[string]string{}
	for _, d := range list {
		out[d.Name] = d.Title
		if v.zh {
			out[d.Name] = cmp.Or(d.TitleZH, d.Title)
		}
	}
	return out, nil
}

// hiddenFrom takes away the error that a person may not see something that a page can do without.
func hiddenFrom(err error) error {
	if posthouse.CodeOf(err) == posthouse.CodeForbidden {
		return nil
	}
	return err
}

// rowOf is a channel with what the overview says of it.
func rowOf(c posthouse.Channel, called string, o wire.Overview) boardRow {
	r := boardRow{Channel: c, Called: called}
	for _, l := range o.Lanes {
		if l.Channel != c.Name {
			continue
		}
		r.Backlog += l.Pending
		r.Stuck += l.Unknown + l.Quarantined
		r.Late = r.Late || l.Late
		if !l.Oldest.IsZero() && (r.Oldest.IsZero() || l.Oldest.Before(r.Oldest)) {
			r.Oldest = l.Oldest
		}
	}
	for _, p := range o.Parked {
		if p.Channel == c.Name {
			r.Parked = p.Accounts
		}
	}
	at := slices.IndexFunc(o.Channels, func(one wire.OverviewChannel) bool { return one.Channel == c.Name })
	if at < 0 {
		return r
	}
	r.Full = o.Channels[at].Tightest
	sent, bad := make([]int, boardSlots+1), make([]int, boardSlots+1)
	most := 0
	for _, m := range o.Channels[at].Minutes {
		slot := boardSlots - int(o.At.Truncate(5*time.Minute).Sub(m.At)/(5*time.Minute))
		if slot < 0 || slot > boardSlots {
			continue
		}
		sent[slot], bad[slot] = m.Sent, m.Failed
		r.Sent, r.Bad, r.Unsure, most = r.Sent+m.Sent, r.Bad+m.Failed, r.Unsure+m.Unknown, max(most, m.Sent, m.Failed)
	}
	if r.Sent > 0 {
		r.Line = sparkline(sent, most)
	}
	if r.Bad > 0 {
		r.BadLine = sparkline(bad, most)
	}
	return r
}

// rank is by how much a channel needs somebody, least first.
func (r boardRow) rank() int {
	switch {
	case r.State == posthouse.ChannelBroken:
		return 0
	case r.State == posthouse.ChannelParked:
		return 1
	case r.State == posthouse.ChannelPaused:
		return 2
	case r.Late:
		return 3
	case r.Stuck > 0 || r.Parked > 0:
		return 4
	}
	return 5
}

// Of are the deliveries of the row's channel in a state, since a time where it is one.
func (r boardRow) Of(f frame, page string, state posthouse.State, since time.Time) string {
	q := url.Values{"channel": {r.Name}, "state": {string(state)}}
	if !since.IsZero() {
		q.Set("since", f.ISO(since))
	}
	return f.At(page) + "?" + q.Encode()
}

// Doubt is the state to look at first of what is stuck.
func (r boardRow) Doubt() string { return "?channel=" + url.QueryEscape(r.Name) }

// sparkline are the points of a small line in a field of 100 by 24.
func sparkline(values []int, most int) string {
	var b strings.Builder
	for i, n := range values {
		fmt.Fprintf(&b, "%.1f,%.1f ", 100*float64(i)/float64(max(len(values)-1, 1)), 23-22*float64(n)/float64(max(most, 1)))
	}
	return b.String()
}
