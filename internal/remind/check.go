package remind

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/draft"
)

// Bounds of a reminder. Its id is followed by the slot in the dedup_key of each message.
const (
	leastEvery = time.Second
	mostAhead  = 3660 * 24 * time.Hour
	maxDaily   = 48
	maxID      = 255 - len("#20060102T150405Z")
	// Slots that start campaigns are further apart, and the name of each has the reminder's id in it.
	leastCampaign = time.Minute
	maxCampaignID = 128 - len("-20060102T150405Z")
)

// checkCampaign says what is wrong with what each slot starts, as far as the reminder alone can tell.
func checkCampaign(r *posthouse.Reminder, p *draft.Problems) {
	d, c := r.Draft, r.Campaign
	d.Kind, d.Ref, d.DedupKey = "", "", ""
	if !reflect.ValueOf(d).IsZero() {
		p.Add("draft", "stands beside a campaign, which has its own texts and people: it has a kind and a ref alone, such as {\"kind\": \"bill\"}")
	}
	p.Word("draft.kind", r.Draft.Kind, draft.MaxWord)
	p.Word("draft.ref", r.Draft.Ref, draft.MaxWord)
	if len(r.ID) > maxCampaignID {
		p.Add("id", "has %d bytes: at most %d are allowed for a schedule of campaigns, whose names begin with it", len(r.ID), maxCampaignID)
	}
	if strings.ContainsAny(r.ID, "/\\?#%") {
		p.Add("id", "is %.80q: the names of its campaigns begin with it, and /, \\, ?, # and %% are not allowed in these; want one such as weekly-bill", r.ID)
	}
	if c.Like == "" {
		p.Add("campaign.like", "is required: the campaign that each is like, such as weekly-bill")
	}
	if c.Audience != "" && c.Query != nil {
		p.Add("campaign.query", "stands beside an audience: give one of them")
	}
	if c.Within < 0 || c.Within > 0 && c.Within.Std() < leastCampaign {
		p.Add("campaign.within", "is %s: want at least %s, such as 8h", c.Within, posthouse.Duration(leastCampaign))
	}
	for path, every := range map[string]posthouse.Duration{"countdown.every": everyOf(r.Countdown), "repeat.every": periodOf(r.Repeat)} {
		if every > 0 && every.Std() < leastCampaign {
			p.Add(path, "is %s: want at least %s where each slot starts a campaign", every, posthouse.Duration(leastCampaign))
		}
	}
}

func everyOf(c *posthouse.Countdown) posthouse.Duration {
	if c == nil {
		return 0
	}
	return c.Every
}

func periodOf(c *posthouse.Repeat) posthouse.Duration {
	if c == nil {
		return 0
	}
	return c.Every
}

// check says what is wrong with a reminder whose defaults are filled in, as far as it alone can tell. What
// the draft says of its channel and template is the engine's to judge.
func check(r *posthouse.Reminder, now time.Time) []posthouse.Problem {
	p := &draft.Problems{Path: "draft."}
	if r.Campaign == nil {
		checkDraft(r, now, p)
	}
	p.Path = ""
	if r.Campaign != nil {
		checkCampaign(r, p)
	}
	if len(r.ID) > maxID && r.ID == r.Draft.DedupKey {
		p.Add("draft.dedup_key", "has %d bytes: at most %d are allowed for a reminder", len(r.ID), maxID)
	} else if r.ID != r.Draft.DedupKey {
		p.Word("id", r.ID, maxID)
	}
	if r.Missed != posthouse.MissedExpire && r.Missed != posthouse.MissedCollapse {
		p.Add("missed", "is %.60q: want expire or collapse", r.Missed)
	}
	switch {
	case r.Countdown == nil && r.Repeat == nil:
		p.Add("countdown", "is required, or a repeat: it says when")
	case r.Countdown != nil && r.Repeat != nil:
		p.Add("repeat", "stands beside a countdown: give one of them")
	case r.Countdown != nil:
		checkCountdown(r.Countdown, now, p)
	default:
		checkRepeat(r.Repeat, now, p)
	}
	return p.List
}

func checkDraft(r *posthouse.Reminder, now time.Time, p *draft.Problems) {
	if !r.Draft.NotBefore.IsZero() {
		p.Add("not_before", "is the reminder's to set: each slot has its own")
	}
	if !r.Draft.Deadline.IsZero() {
		p.Add("deadline", "is the reminder's to set: each slot has its own")
	}
	if r.Draft.Sensitive {
		p.Add("sensitive", "is not for reminders, which keep their draft as it is: send the message itself")
	}
	d := r.Draft
	d.NotBefore, d.Deadline = time.Time{}, time.Time{}
	if d.Clock = clockOf(r); d.Clock != nil && *d.Clock == (posthouse.Clock{}) {
		d.Clock = nil // the countdown has no end, which is said below
	}
	if r.Task != "" {
		if len(d.To) > 0 {
			p.Add("to", "stands beside a task, whose assignees are told: leave one out")
		}
		d.To = []posthouse.Recipient{{User: "whoever it is then"}}
	}
	draft.Check(&d, draft.MostRecipients, now, p) // fewer are the Intake's to ask for
}

func checkCountdown(c *posthouse.Countdown, now time.Time, p *draft.Problems) {
	switch {
	case c.To.IsZero():
		p.Add("countdown.to", "is required: the moment that is counted down to")
	case !c.To.After(now.Add(-grace)):
		p.Add("countdown.to", "is %s, which has passed", c.To.Format(time.RFC3339))
	case c.To.After(now.Add(mostAhead)):
		p.Add("countdown.to", "is %s: at most ten years ahead are allowed", c.To.Format(time.RFC3339))
	}
	if c.Before < 0 {
		p.Add("countdown.before", "is %s: want 0 or more", c.Before)
	}
	if c.Every < 0 || c.Before > 0 && c.Every.Std() < leastEvery {
		p.Add("countdown.every", "is %s: want at least %s", c.Every, posthouse.Duration(leastEvery))
	}
}

func checkRepeat(c *posthouse.Repeat, now time.Time, p *draft.Problems) {
	switch {
	case c.Every != 0 && len(c.Daily) > 0:
		p.Add("repeat.daily", "stands beside every: give one of them")
	case c.Cron != "" && (c.Every != 0 || len(c.Daily) > 0):
		p.Add("repeat.cron", "stands beside every or daily: give one of them")
	case c.Every == 0 && !local(c) && c.Max != 1:
		p.Add("repeat.every", "is required, or daily, or cron: it says how often")
	case c.Every != 0 && c.Every.Std() < leastEvery:
		p.Add("repeat.every", "is %s: want at least %s", c.Every, posthouse.Duration(leastEvery))
	}
	checkLocal(c, p)
	if c.Max < 0 {
		p.Add("repeat.max", "is %d: want 0 for no bound, or more", c.Max)
	}
	if c.From.After(now.Add(mostAhead)) {
		p.Add("repeat.from", "is %s: at most ten years ahead are allowed", c.From.Format(time.RFC3339))
	}
	if !c.Until.IsZero() && c.Until.Before(c.From) {
		p.Add("repeat.until", "is before from")
	}
	p.Time("repeat.from", c.From)
	p.Time("repeat.until", c.Until)
}

// checkLocal says what is wrong with local times and their zone.
func checkLocal(c *posthouse.Repeat, p *draft.Problems) {
	if len(c.Daily) > maxDaily {
		p.Add("repeat.daily", "has %d times: at most %d are allowed", len(c.Daily), maxDaily)
	}
	for i, text := range c.Daily {
		if _, err := parseDaily(text); err != nil || len(text) != len("09:00") {
			p.Add(fmt.Sprintf("repeat.daily[%d]", i), "is %.60q: want a local time such as 09:00", text)
		}
	}
	zone, err := time.LoadLocation(c.TimeZone)
	if c.TimeZone == "" || err != nil || zone == time.Local {
		err, zone = errNoZone, time.UTC
	}
	switch {
	case c.TimeZone != "" && !local(c):
		p.Add("repeat.time_zone", "is for daily times and cron: there are none")
	case local(c) && err != nil:
		p.Add("repeat.time_zone", "is %.60q: want an IANA zone such as Asia/Shanghai", c.TimeZone)
	}
	if c.Cron == "" {
		return
	}
	if err := CheckCron(c.Cron, zone, c.From); err != nil {
		p.Add("repeat.cron", "%s", err)
	}
}

var errNoZone = errors.New("no zone")
