package feed

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

func TestFiltersPassWhatIsWanted(t *testing.T) {
	t.Parallel()
	sent := posthouse.FeedEvent{Tenant: "t1", Channel: "wecom", Kind: "leave", Ref: "7", To: posthouse.Sent}
	pressed := posthouse.FeedEvent{Tenant: "t1", Channel: "wecom", Kind: "leave", Ref: "7", Callback: &posthouse.CallbackEvent{Event: "template_card_event"}}
	entered := posthouse.FeedEvent{Tenant: "t1", Channel: "wecom", Callback: &posthouse.CallbackEvent{Event: "enter_agent"}}
	told := posthouse.FeedEvent{Tenant: "t1", Channel: "wecom", Kind: "leave", Ref: "7", Notification: &posthouse.NotificationEvent{
		State: posthouse.NotificationTold, Channels: []string{"wecom", "voice"},
	}}
	for name, c := range map[string]struct {
		filter Filter
		want   [4]bool
	}{
		"all":               {Filter{Sight: work.SeeAll()}, [4]bool{true, true, true, true}},
		"nobody's":          {Filter{}, [4]bool{}},
		"another tenant's":  {Filter{Sight: work.SeeAll(), Tenant: "t2"}, [4]bool{}},
		"a channel":         {Filter{Sight: work.SeeAll(), Tenant: "t1", Channels: []string{"wecom"}}, [4]bool{true, true, true, false}},
		"a route's":         {Filter{Sight: work.See([]string{"wecom", "voice"}, nil), Channels: []string{"voice", "wecom"}}, [4]bool{true, true, true, true}},
		"a part of it":      {Filter{Sight: work.See([]string{"wecom"}, nil)}, [4]bool{true, true, true, false}},
		"of notifications":  {Filter{Sight: work.SeeAll(), Types: []string{"notification"}}, [4]bool{false, false, false, true}},
		"of those told":     {Filter{Sight: work.SeeAll(), Types: []string{"notification.told"}}, [4]bool{false, false, false, true}},
		"of those not told": {Filter{Sight: work.SeeAll(), Types: []string{"notification.not_told"}}, [4]bool{}},
		"a kind":            {Filter{Sight: work.SeeAll(), Kinds: []string{"leave"}}, [4]bool{true, true, false, true}},
		"a ref":             {Filter{Sight: work.SeeAll(), Refs: []string{"7"}}, [4]bool{true, true, false, true}},
		"a state":           {Filter{Sight: work.SeeAll(), States: []posthouse.State{posthouse.Sent}}, [4]bool{true, false, false, false}},
		"a key of a kind":   {Filter{Sight: work.See(nil, []string{"leave"})}, [4]bool{true, true, false, true}},
		"another's channel": {Filter{Sight: work.See([]string{"sms"}, nil)}, [4]bool{}},
		"of deliveries":     {Filter{Sight: work.SeeAll(), Types: []string{"delivery"}}, [4]bool{true, false, false, false}},
		"of providers":      {Filter{Sight: work.SeeAll(), Types: []string{"callback"}}, [4]bool{false, true, true, false}},
		"of two types":      {Filter{Sight: work.SeeAll(), Types: []string{"delivery.sent", "callback.enter_agent"}}, [4]bool{true, false, true, false}},
		"half a word":       {Filter{Sight: work.SeeAll(), Types: []string{"deliver", "callback.enter"}}, [4]bool{}},
	} {
		for i, e := range []posthouse.FeedEvent{sent, pressed, entered, told} {
			if got := c.filter.Wants(&e); got != c.want[i] {
				t.Errorf("%s: %s passes is %t", name, e.Type(), got)
			}
		}
	}
}

func TestTypesAreCheckedByName(t *testing.T) {
	t.Parallel()
	for want, right := range map[string]bool{
		"delivery": true, "delivery.sent": true, "notification": true, "notification.not_told": true, "notification.acknowledged": true, "callback.x": true,
		"notification.": false, "notification.sent": false, "delivery.told": false, "notifications": false, "": false,
	} {
		if problem := CheckType(want); (problem == "") != right {
			t.Errorf("%q: %q", want, problem)
		}
	}
}
