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
	for name, c := range map[string]struct {
		filter Filter
		want   [3]bool
	}{
		"all":               {Filter{Sight: work.SeeAll()}, [3]bool{true, true, true}},
		"nobody's":          {Filter{}, [3]bool{}},
		"another tenant's":  {Filter{Sight: work.SeeAll(), Tenant: "t2"}, [3]bool{}},
		"a channel":         {Filter{Sight: work.SeeAll(), Tenant: "t1", Channels: []string{"wecom"}}, [3]bool{true, true, true}},
		"a kind":            {Filter{Sight: work.SeeAll(), Kinds: []string{"leave"}}, [3]bool{true, true, false}},
		"a ref":             {Filter{Sight: work.SeeAll(), Refs: []string{"7"}}, [3]bool{true, true, false}},
		"a state":           {Filter{Sight: work.SeeAll(), States: []posthouse.State{posthouse.Sent}}, [3]bool{true, false, false}},
		"a key of a kind":   {Filter{Sight: work.See(nil, []string{"leave"})}, [3]bool{true, true, false}},
		"another's channel": {Filter{Sight: work.See([]string{"sms"}, nil)}, [3]bool{}},
		"of deliveries":     {Filter{Sight: work.SeeAll(), Types: []string{"delivery"}}, [3]bool{true, false, false}},
		"of providers":      {Filter{Sight: work.SeeAll(), Types: []string{"callback"}}, [3]bool{false, true, true}},
		"of two types":      {Filter{Sight: work.SeeAll(), Types: []string{"delivery.sent", "callback.enter_agent"}}, [3]bool{true, false, true}},
		"half a word":       {Filter{Sight: work.SeeAll(), Types: []string{"deliver", "callback.enter"}}, [3]bool{}},
	} {
		for i, e := range []posthouse.FeedEvent{sent, pressed, entered} {
			if got := c.filter.Wants(&e); got != c.want[i] {
				t.Errorf("%s: %s passes is %t", name, e.Type(), got)
			}
		}
	}
}
