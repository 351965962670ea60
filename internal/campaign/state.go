package campaign

import (
	"cmp"
	"slices"

	"github.com/posthouse/posthouse"
)

// Action is what somebody does to a campaign.
type Action string

// The actions.
const (
	Import Action = "import" // a part of its audience is stored
	Close  Action = "close"  // its audience is complete
	Change Action = "change" // its terms are others; the state stays
	Start  Action = "start"
	// Schedule lets it begin by itself at a time, Unschedule takes that back.
	Schedule   Action = "schedule"
	Unschedule Action = "unschedule"
	Pause      Action = "pause"
	Resume     Action = "resume"
	Cancel     Action = "cancel"
	Mend       Action = "repair" // what workers have left is issued anew; the state stays
	Finish     Action = "finish" // nobody is left
	Expire     Action = "expire" // the deadline has passed
)

// next says what each action makes of which states.
var next = map[Action]struct {
	from []posthouse.CampaignState
	to   posthouse.CampaignState // empty for the same
}{
	Import:     {[]posthouse.CampaignState{posthouse.CampaignDraft, posthouse.CampaignImporting}, posthouse.CampaignImporting},
	Close:      {[]posthouse.CampaignState{posthouse.CampaignDraft, posthouse.CampaignImporting}, posthouse.CampaignReady},
	Change:     {[]posthouse.CampaignState{posthouse.CampaignDraft, posthouse.CampaignImporting, posthouse.CampaignReady, posthouse.CampaignScheduled}, ""},
	Start:      {[]posthouse.CampaignState{posthouse.CampaignReady, posthouse.CampaignScheduled}, posthouse.CampaignRunning},
	Schedule:   {[]posthouse.CampaignState{posthouse.CampaignReady, posthouse.CampaignScheduled}, posthouse.CampaignScheduled},
	Unschedule: {[]posthouse.CampaignState{posthouse.CampaignScheduled}, posthouse.CampaignReady},
	Pause:      {[]posthouse.CampaignState{posthouse.CampaignRunning}, posthouse.CampaignPaused},
	Resume:     {[]posthouse.CampaignState{posthouse.CampaignPaused}, posthouse.CampaignRunning},
	Cancel:     {[]posthouse.CampaignState{posthouse.CampaignDraft, posthouse.CampaignImporting, posthouse.CampaignReady, posthouse.CampaignScheduled, posthouse.CampaignRunning, posthouse.CampaignPaused}, posthouse.CampaignCancelled},
	Mend:       {[]posthouse.CampaignState{posthouse.CampaignRunning, posthouse.CampaignPaused}, ""},
	Finish:     {[]posthouse.CampaignState{posthouse.CampaignRunning, posthouse.CampaignPaused}, posthouse.CampaignDone},
	Expire:     {[]posthouse.CampaignState{posthouse.CampaignScheduled, posthouse.CampaignRunning, posthouse.CampaignPaused}, posthouse.CampaignExpired},
}

// Next is the state after an action. The error says from which states it is possible.
func Next(c *posthouse.Campaign, a Action) (posthouse.CampaignState, error) {
	step := next[a]
	if slices.Contains(step.from, c.State) {
		return cmp.Or(step.to, c.State), nil
	}
	return c.State, posthouse.Errorf(posthouse.CodeConflict, "the campaign %s is %s: %s is possible while it is %s", c.Name, c.State, a, words(step.from))
}

func words(states []posthouse.CampaignState) string {
	text := ""
	for i, s := range states {
		switch {
		case i == 0:
		case i == len(states)-1:
			text += " or "
		default:
			text += ", "
		}
		text += string(s)
	}
	return text
}
