package verify

import "time"

// CampaignFinding says how many members of a campaign were judged, or what does not hold of one of them, of a segment, or of the campaign.
type CampaignFinding struct {
	Members int
	Subject string // what it is about; empty with Members
	What    string
}

// Arrived is one message that reached the provider: whether the recipient may have it, and whether the provider has said so.
type Arrived struct {
	At              time.Time
	Taken, Accepted bool
}

// judgeCampaigns holds that campaigns reach each of their members once (I26). What arrived for a member belongs to it.
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
		if f.Subject != "" {
			c.fail(campaign, f.Subject, line("%s", f.Subject), "%s", f.What)
		}
	}
	return nil
}

// arrived are the arrivals of a member's key, but for those of a history that a restore has undone.
func (c *checker) arrived(key string) (out []Arrived) {
	list := c.sink.of(c.packer.Key(key))
	for i := range list {
		a := &list[i]
		a.belongs = true
		if !c.faults.undone(a.at, c.slack) {
			out = append(out, Arrived{time.Unix(0, a.at), a.taken(), a.answer == accepted})
		}
	}
	return out
}
