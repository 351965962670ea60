package verify

import "time"

// CampaignFinding says how many members of a campaign were judged, and how many of them are suppressed; or what does not hold of one
// of them, of a segment, or of the campaign.
type CampaignFinding struct {
	Members, Suppressed int
	Subject             string // what it is about; empty with Members
	What                string
	Barred              bool // it is of I22, not of I26
}

// Arrived is one message that reached the provider: whether the recipient may have it, and whether the provider has said so.
type Arrived struct {
	At              time.Time
	Taken, Accepted bool
}

// judgeCampaigns holds that campaigns reach each of their members once (I26), and nobody who was suppressed (I22). What arrived for
// a member belongs to it.
func (c *checker) judgeCampaigns() error {
	if c.in.Campaigns == nil {
		return nil
	}
	arrived := c.arrived
	if c.sink == nil {
		arrived = nil
	}
	for f, err := range c.in.Campaigns(arrived) {
		if err != nil {
			return err
		}
		c.checked(campaign, f.Members)
		c.checked(suppress, f.Suppressed)
		law := campaign
		if f.Barred {
			law = suppress
		}
		if f.Subject != "" {
			c.fail(law, f.Subject, line("%s", f.Subject), "%s", f.What)
		}
	}
	return nil
}

// arrived are the arrivals of a member's key, but for those of a history that a restore has undone. One that was accepted ends the
// recovery from a fault: the log has no event of it.
func (c *checker) arrived(key string) (out []Arrived) {
	list := c.sink.of(c.packer.Key(key))
	for i := range list {
		a := &list[i]
		a.belongs = true
		if a.answer == accepted {
			c.faults.success(a.at)
		}
		if !c.faults.undone(a.at, c.slack) {
			out = append(out, Arrived{time.Unix(0, a.at), a.taken(), a.answer == accepted})
		}
	}
	return out
}
