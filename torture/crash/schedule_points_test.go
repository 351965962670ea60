package crash

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/torture/internal/house"
	"github.com/posthouse/posthouse/wire"
)

// schedulePoints are the places where a server dies between a schedule's moment and the start of its campaign, in their order.
var schedulePoints = []struct {
	name  string
	quick bool // among those of the short form
}{
	{name: "the slot has come"},
	{name: "make a campaign, not committed"},
	{name: "make a campaign, committed"},
	{name: "the campaign is made", quick: true},
	{name: "the campaign is noted"},
	{name: "change a campaign, not committed"}, // its list is being read, or has been
	{name: "change a campaign, committed"},
	{name: "store a part of an audience, not committed"},
	{name: "store a part of an audience, committed"},
	{name: "the list is read"},
	{name: "the campaign is to start"},
	{name: "the campaign is started", quick: true},
}

// billed are the people of each campaign.
const billed = 25

// killedWhileScheduling is A18: kill -9 at each place between a schedule's moment, the list, the campaign and its start. Each moment starts one campaign,
// and each member gets one message of it.
func killedWhileScheduling(t *testing.T, db house.Database, binary string) {
	p := openPoints(t, db.DSN(t), binary)
	p.PutChannel(t, p.Channel("generic"))
	api := p.server.Client(t, 3)
	var people strings.Builder
	people.WriteString("user\n")
	for i := range billed {
		fmt.Fprintf(&people, "u%d\n", i)
	}
	_, err := api.Campaigns.Create(t.Context(), wire.CampaignDraft{Name: "bill", Channel: "generic", Content: &posthouse.Content{Text: "hello"}, OnUnknown: posthouse.Hold})
	if err == nil {
		_, err = api.Campaigns.Import(t.Context(), "bill", client.Part{Final: true}, strings.NewReader(people.String()))
	}
	if err != nil {
		t.Fatal(err)
	}
	kills, right := 0, 0
	for i, c := range schedulePoints {
		if !c.quick && !house.Full() {
			continue
		}
		kills++
		if p.bill(t, api, fmt.Sprintf("case-%d", i), c.name, kills) {
			right++
		}
	}
	p.Judge(t)
	house.Report(t, house.Row{
		Test: "A18", Database: string(db), What: "kill -9 between a schedule's moment and the start of its campaign", N: kills, Unit: "kills",
		Figure: fmt.Sprintf("one campaign, and each of %d members once, in %d of %d", billed, right, kills), Bar: "all", Pass: right == kills && !t.Failed(),
	})
}

// bill has a schedule start one campaign, and the server die at a point on the way; before are the campaigns that have started by now, with this one. It
// reports whether one campaign was made, and has reached each member once.
func (p *points) bill(t *testing.T, api *client.Client, id, point string, campaigns int) bool {
	t.Helper()
	ctx := t.Context()
	if _, err := api.Channels.Pause(ctx, "generic", "what is under way at a kill is another test's"); err != nil {
		t.Fatal(err)
	}
	p.arm(t, point)
	hourly := &posthouse.Repeat{Every: posthouse.Duration(time.Hour), Max: 1}
	schedule := posthouse.Reminder{Campaign: &posthouse.ScheduledCampaign{Like: "bill"}, Repeat: hourly}
	_, cut := p.server.Client(t, 1).Reminders.Put(ctx, id, schedule) // its moment is now: it may not be answered
	p.server.Wait(t)
	p.server.Start(t)
	if cut != nil { // a schedule that is put again is another one: its campaign would be cancelled
		if _, err := api.Reminders.Get(ctx, id); posthouse.CodeOf(err) == posthouse.CodeNotFound {
			_, err = api.Reminders.Put(ctx, id, schedule)
			cut = err
		} else {
			cut = err
		}
	}
	if cut != nil {
		t.Fatal(cut)
	}
	var r wire.Reminder
	house.Until(t, "the slot of "+id+" to have come", func() bool {
		var err error
		r, err = api.Reminders.Get(ctx, id)
		return err == nil && len(r.Last) > 0
	})
	if _, err := api.Channels.Resume(ctx, "generic"); err != nil {
		t.Fatal(err)
	}
	p.Reached(t, r.Last[0].Campaign, billed)
	var mine []string
	var of wire.Campaign
	house.Until(t, "the campaign of "+id+" to end", func() bool {
		list, err := api.Campaigns.List(ctx, "", client.Filter{Limit: 100})
		mine = nil
		for _, c := range list.Items {
			if strings.HasPrefix(c.Name, id+"-") {
				mine = append(mine, c.Name)
			}
		}
		if err == nil && len(mine) == 1 {
			of, err = api.Campaigns.Get(ctx, mine[0])
		}
		return err == nil && (len(mine) != 1 || of.State.Final())
	})
	got := map[string]int{}
	for _, a := range p.Provider.Arrivals(t) {
		got[a.User]++
	}
	ok := len(mine) == 1 && of.State == posthouse.CampaignDone && of.Progress.Sent == billed && r.Fired == 1 && len(got) == billed
	for _, n := range got {
		ok = ok && n == campaigns
	}
	if !ok {
		t.Errorf("killed at %q: campaigns %v, %+v, the schedule %+v, arrivals %v; want one campaign, and %d of each of %d members", point, mine, of, r, got, campaigns, billed)
	}
	return ok
}
