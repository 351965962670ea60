package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/rollup"
	"github.com/posthouse/posthouse/internal/segment"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/suppress"
	"github.com/posthouse/posthouse/internal/work"
)

// segments are the kind of unit that campaigns are sent by: the members of a segment that one call sends to.
type segments struct {
	holder  *segment.Holder
	routes  *Routes
	permits *permits
	sieve   *suppress.Sieve
	rollup  *rollup.Rollup
	log     *slog.Logger
	metrics *metrics.Metrics
}

func slotsOf(r *route, account string) segment.Slots {
	return segment.Slots{Tenant: r.Key.Tenant, Channel: r.Key.Channel, Account: account}
}

// claim starts members of segments: of those that are held, and of others that are free.
func (s *segments) claim(ctx context.Context, w wish) (claimed, error) {
	var found claimed
	if w.pin != "" {
		return found, nil
	}
	r := w.route
	most := min(w.max, s.holder.Share(slotsOf(r, w.account), r.Settings.MaxInflight))
	lane := work.Lane{Tenant: r.Key.Tenant, Channel: r.Key.Channel, Priority: w.priority}
	for found.n < most && (w.messages == 0 || len(found.units) < w.messages) {
		st, err := s.holder.Next(ctx, lane, w.at, w.lease)
		if err == nil && st == nil {
			return found, nil
		}
		if err == nil {
			err = s.begin(ctx, st, w, most, &found)
		}
		if err != nil { // what was started is to be sent, and single messages do not wait for campaigns
			s.log.Warn("no more members of a campaign start for a moment", "channel", r.Key.Channel, "error", err)
			return found, nil
		}
	}
	return found, nil
}

// begin starts members until there are so many, and adds units of them to what was claimed.
func (s *segments) begin(ctx context.Context, st *segment.Stretch, w wish, most int, found *claimed) error {
	var grants []limit.Grant
	places, err := s.holder.Begin(ctx, st, termsOf(w.route, &st.Campaign), most-found.n, w.lease, func(places []int) (may []int, later map[int]time.Time, err error) {
		may, grants, later, err = s.sift(ctx, w, st, places)
		return may, later, err
	})
	if len(places) == 0 {
		for i := range grants {
			s.permits.refund(&grants[i], 1)
		}
		return err
	}
	found.n += len(places)
	units := s.parts(st, w, places, grants)
	s.bar(ctx, w.route, st, units)
	for _, p := range units {
		found.units = append(found.units, p)
	}
	return nil
}

// bar says of the members that were started to whom of them nothing is sent: who was suppressed before that was stored.
func (s *segments) bar(ctx context.Context, r *route, st *segment.Stretch, parts []*part) {
	if r.Settings.Exempt(st.Campaign.Kind) {
		return
	}
	var addresses []string
	for _, p := range parts {
		for _, place := range p.places {
			addresses = append(addresses, st.Members[place].Address)
		}
	}
	barred, err := s.sieve.Addresses(ctx, r.Channel, addresses)
	if err != nil {
		s.log.Warn("suppressions cannot be looked up: members of a campaign wait", "channel", r.Key.Channel, "error", err)
	}
	first := 0
	for _, p := range parts {
		p.unasked = err != nil
		for i, place := range p.places {
			if why, is := barred[first+i]; is {
				p.bar(place, why)
			}
		}
		first += len(p.places)
	}
}

// parts makes units of members that were started.
func (s *segments) parts(st *segment.Stretch, w wish, places []int, grants []limit.Grant) []*part {
	size, r := 1, w.route
	if _, ok := r.Opened.By(w.account).(channel.BatchDriver); ok && st.Letter.Same() {
		size = max(1, r.Settings.Batch)
	}
	s.holder.Occupy(slotsOf(r, w.account), len(places))
	units := make([]*part, 0, len(places)/size+1)
	for len(places) > 0 {
		n := min(size, len(places))
		p := &part{of: s, in: st, places: places[:n:n], grant: w.grant, is: about{
			kind: s, route: r, size: n, account: w.account, message: st.Campaign.ID, first: campaign.MemberID(st.Campaign.ID, st.Members[places[0]].Seq),
		}}
		if len(grants) > 0 {
			p.taken, grants = grants[:n], grants[n:]
		}
		units, places = append(units, p), places[n:]
	}
	return units
}

// sift asks the windows that differ between members. It returns who may start, with a grant for each where there are such
// windows, and when those are looked at again whom one has refused.
func (s *segments) sift(ctx context.Context, w wish, st *segment.Stretch, places []int) (may []int, with []limit.Grant, later map[int]time.Time, err error) {
	r := w.route
	if !r.Settings.Tiers.Apart() {
		return places, nil, nil, nil
	}
	message := &posthouse.Message{}
	message.Template, _ = st.Letter.Template()
	if st.Letter.Same() {
		message.Content = *st.Campaign.Content
	}
	bounds, tiers := make([][]limit.Bound, len(places)), make([][]state.Tier, len(places))
	for i, place := range places {
		item := work.Item{Message: message}
		item.Delivery.Address = st.Members[place].Address
		tiers[i] = r.Settings.Tiers.Of(r.Key, w.account, &item)
		for _, t := range tiers[i] {
			bounds[i] = append(bounds[i], t.Bound)
		}
	}
	grants, err := s.permits.limiter.Each(ctx, bounds)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("ask the limiter for members of a campaign: %w", err)
	}
	later = map[int]time.Time{}
	for i, g := range grants {
		if g.N > 0 {
			may, with = append(may, places[i]), append(with, g)
			continue
		}
		later[places[i]] = time.Now().Add(s.permits.later(tiers[i], g, "").result.After)
		s.metrics.Limited.WithLabelValues(r.Key.Channel).Inc()
	}
	return may, with, later, nil
}

// settle writes down how members were sent to.
func (s *segments) settle(ctx context.Context, batch []unit, insist insist) error {
	list := make([]segment.Ended, len(batch))
	for i, u := range batch {
		p := u.(*part)
		list[i] = segment.Ended{Of: p.in, Size: p.is.size, Places: p.places, Bad: p.bad, Barred: p.barred}
		if p.unasked {
			list[i].After = faultPause
		}
		if p.sent() {
			list[i].Results = p.ended.results
			_, list[i].Hears = p.is.route.Opened.By(p.is.account).(channel.Receiver)
		}
		p.count()
	}
	return s.holder.Settle(ctx, list, insist)
}

// termsOf are by which the members of a campaign are tried on a channel.
func termsOf(r *route, c *work.Campaign) campaign.Terms {
	set := &r.Settings
	policy := c.OnUnknown
	if policy == "" {
		policy = set.Policy
	}
	return campaign.Terms{Profile: set.Profile, Again: policy == posthouse.Retry, Window: set.Window, Timeout: set.Timeout}
}
