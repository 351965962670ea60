package engine

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/admission"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/content"
	"github.com/posthouse/posthouse/internal/limit"
	"github.com/posthouse/posthouse/internal/metrics"
	"github.com/posthouse/posthouse/internal/quiet"
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
	people  campaign.Directory
	reads   content.Languages // nil for none: members read a template's own text
	quiet   *quiet.Keeper
	rollup  *rollup.Rollup
	log     *slog.Logger
	metrics *metrics.Metrics
}

func slotsOf(r *route, account string) segment.Slots {
	return segment.Slots{Tenant: r.Key.Tenant, Channel: r.Key.Channel, Account: account}
}

// claim starts members of segments: of those that are held, and of others that are free.
func (s *segments) claim(ctx context.Context, w wish) (claimed, error) {
	found := claimed{given: make([]admission.Given, len(w.parts))}
	if w.pin != "" && w.pin.Account() == "" {
		return found, nil
	}
	for i := range w.parts {
		if err := s.claimFor(ctx, w, &w.parts[i], &found.given[i], &found); err != nil { // what was started is to be sent, and single messages do not wait for campaigns
			s.log.Warn("no more members of a campaign start for a moment", "channel", w.route.Key.Channel, "error", err)
			return found, nil //nolint:nilerr // it is in the log
		}
	}
	return found, nil
}

// claimFor starts members that one account sends to.
func (s *segments) claimFor(ctx context.Context, w wish, by *admission.Portion, own *admission.Given, found *claimed) error {
	r := w.route
	most := min(by.Max, s.holder.Share(slotsOf(r, by.Account), r.Settings.MaxInflight))
	lane := work.Lane{Tenant: r.Key.Tenant, Channel: r.Key.Channel, Priority: w.priority}
	defer func() { own.Full = own.N > 0 && own.N >= most }()
	for own.N < most && (by.Calls == 0 || own.Calls < by.Calls) {
		st, err := s.holder.Next(ctx, lane, w.pin, by.Account, w.at, w.lease)
		if err != nil || st == nil {
			return err
		}
		left, size := most-own.N, sizeOf(r, by.Account, st)
		if by.Calls > 0 {
			left = min(left, (by.Calls-own.Calls)*size)
		}
		units, n, err := s.begin(ctx, st, w, by, left)
		found.units, found.n = append(found.units, units...), found.n+n
		own.N, own.Calls = own.N+n, own.Calls+len(units)
		if err != nil {
			return err
		}
	}
	return nil
}

// begin starts up to so many members, and makes units of them.
func (s *segments) begin(ctx context.Context, st *segment.Stretch, w wish, by *admission.Portion, most int) (list []unit, n int, err error) {
	quiet, err := s.leaveAlone(ctx, w.route, st)
	if err != nil {
		return nil, 0, err
	}
	if until := quiet.all(st); !until.IsZero() {
		s.heldBack(w.route, state.ReasonQuietHours, verdictRelease, 1)
		return nil, 0, s.holder.PutOff(ctx, st, termsOf(w.route, &st.Campaign), until)
	}
	var grants []limit.Grant
	var ends map[int]segment.Bar
	places, err := s.holder.Begin(ctx, st, by.Account, termsOf(w.route, &st.Campaign), most, w.lease, func(places []int) (found segment.Sifted, err error) {
		found, grants, ends, err = s.sift(ctx, w.route, by.Account, st, quiet, places)
		return found, err
	})
	if len(places) == 0 {
		for i := range grants {
			s.permits.refund(&grants[i], 1)
		}
		return nil, 0, err
	}
	parts := s.parts(st, w.route, by, places, grants)
	s.bar(ctx, w.route, st, parts)
	s.localize(ctx, w.route, st, parts)
	for _, p := range parts {
		for _, place := range p.places {
			if why, is := ends[place]; is && p.barred[place].Why == "" {
				p.bar(place, why)
			}
		}
	}
	for _, p := range parts {
		list = append(list, p)
	}
	return list, len(places), nil
}

// bar ends the started members whose addresses are suppressed, and those who are users and do not want it. They are looked up after their start
// was stored, so what was chosen before that holds.
func (s *segments) bar(ctx context.Context, r *route, st *segment.Stretch, parts []*part) {
	var addresses []string
	for _, p := range parts {
		for _, place := range p.places {
			addresses = append(addresses, st.Members[place].Address)
		}
	}
	barred, err := s.sieve.Members(ctx, r.Channel, st.Campaign.Kind, addresses, func() (map[string][]posthouse.User, error) { return s.users(ctx, r, st) })
	if err != nil {
		s.log.Warn("suppressions and preferences cannot be looked up: members of a campaign wait", "channel", r.Key.Channel, "error", err)
	}
	first := 0
	for _, p := range parts {
		p.unasked = err != nil
		for i, place := range p.places {
			if why, is := barred[first+i]; is && err == nil {
				p.bar(place, segment.Bar{Code: strings.ToUpper(why.Reason), Why: why.Why})
			}
		}
		first += len(p.places)
	}
}

// users are those of the directory who are members of a segment, by their addresses.
func (s *segments) users(ctx context.Context, r *route, st *segment.Stretch) (map[string][]posthouse.User, error) {
	return st.Users.Of(ctx, s.people, r.Channel, st.Members)
}

// localize has each member get the text of the language that the member reads, where the template has several. Where that cannot be looked up
// they wait.
func (s *segments) localize(ctx context.Context, r *route, st *segment.Stretch, parts []*part) {
	if !st.Letter.Speaks() || s.reads == nil {
		return
	}
	users, err := s.users(ctx, r, st)
	general := ""
	if err == nil {
		_, general, err = s.reads.Languages(ctx, r.Key.Tenant, nil)
	}
	if err != nil {
		s.log.Warn("it cannot be looked up what members of a campaign read: they wait", "channel", r.Key.Channel, "error", err)
	}
	reads := st.Letter.Read(users, general)
	for _, p := range parts {
		p.unasked = p.unasked || err != nil
		for _, place := range p.places {
			if tag := reads(st.Members[place].Address); tag != "" {
				if p.reads == nil {
					p.reads = map[int]string{}
				}
				p.reads[place] = tag
			}
		}
	}
}

// sizeOf is how many members one call of an account takes: many where the driver does, and all of them get the same.
func sizeOf(r *route, account string, st *segment.Stretch) int {
	if _, ok := r.Opened.By(account).(channel.BatchDriver); ok && st.Letter.Same() {
		return max(1, r.Settings.Batch)
	}
	return 1
}

// parts makes units of members that were started.
func (s *segments) parts(st *segment.Stretch, r *route, by *admission.Portion, places []int, grants []limit.Grant) []*part {
	size := sizeOf(r, by.Account, st)
	s.holder.Occupy(slotsOf(r, by.Account), len(places))
	units := make([]*part, 0, len(places)/size+1)
	for len(places) > 0 {
		n := min(size, len(places))
		p := &part{of: s, in: st, places: slices.Clone(places[:n]), began: places[:n:n], is: about{
			kind: s, route: r, size: n, account: by.Account, message: st.Campaign.ID, first: campaign.MemberID(st.Campaign.ID, st.Members[places[0]].Seq),
		}}
		if len(grants) > 0 {
			p.taken, grants = grants[:n], grants[n:]
		}
		units, places = append(units, p), places[n:]
	}
	return units
}

// heldBack counts what is held back.
func (s *segments) heldBack(r *route, reason string, v verdict, n int) {
	if n > 0 {
		s.metrics.HeldBack.WithLabelValues(r.Key.Channel, reason, string(v)).Add(float64(n))
	}
}

// sift returns the members who may start: nobody whom quiet hours hold, and with a grant each where windows differ between members. A member
// whom a deadline or a cap ends starts too, and ends says why nothing is sent.
func (s *segments) sift(ctx context.Context, r *route, account string, st *segment.Stretch, quiet *alone, places []int) (found segment.Sifted, with []limit.Grant, ends map[int]segment.Bar, err error) {
	places, found.Held, ends, err = quiet.sift(ctx, st, places)
	if err != nil {
		return segment.Sifted{}, nil, nil, err
	}
	s.heldBack(r, state.ReasonQuietHours, verdictRelease, len(found.Held))
	s.heldBack(r, state.ReasonQuietHours, verdictSuppress, len(ends))
	over := slices.Sorted(maps.Keys(ends))
	if found.May = places; s.permits.apart(r) && len(places) > 0 {
		var capped map[int]segment.Bar
		if found.May, with, found.Later, capped, err = s.permit(ctx, r, account, st, places); err != nil {
			return segment.Sifted{}, nil, nil, err
		}
		if ends == nil {
			ends = capped
		} else {
			maps.Copy(ends, capped)
		}
		with = append(with, make([]limit.Grant, len(over))...)
	}
	found.May = append(slices.Clip(found.May), over...) // they start, and end by that
	return found, with, ends, nil
}

// permit asks the windows that differ between members. It returns who may start, with a grant for each, when those are looked at again whom one
// has refused, and why those are not sent to whom a cap has ended.
func (s *segments) permit(ctx context.Context, r *route, account string, st *segment.Stretch, places []int) (may []int, with []limit.Grant, later map[int]time.Time, capped map[int]segment.Bar, err error) {
	message := &posthouse.Message{Kind: st.Campaign.Kind}
	message.Template, _ = st.Letter.Template()
	if st.Letter.Same() {
		message.Content = *st.Campaign.Content
	}
	asks, tiers := make([]limit.Ask, len(places)), make([][]state.Tier, len(places))
	for i, place := range places {
		item := work.Item{Message: message}
		item.Delivery.Address = st.Members[place].Address
		tiers[i] = s.permits.tiersOf(r, account, &item)
		asks[i].Want = 1
		for _, t := range tiers[i] {
			asks[i].Bounds = append(asks[i].Bounds, t.Bound)
		}
	}
	grants, err := s.permits.limiter.Each(ctx, asks)
	if err != nil {
		return nil, nil, nil, nil, fmt.Errorf("ask the limiter for members of a campaign: %w", err)
	}
	later = map[int]time.Time{}
	for i, g := range grants {
		if g.N > 0 {
			may, with = append(may, places[i]), append(with, g)
			continue
		}
		d := s.permits.later(tiers[i], g, "")
		if d.reason == state.ReasonCapped {
			s.heldBack(r, d.reason, d.verdict, 1)
		}
		if d.verdict == verdictSuppress { // it starts, and ends by that
			if capped == nil {
				capped = map[int]segment.Bar{}
			}
			capped[places[i]] = segment.Bar{Code: "CAPPED", Why: d.result.Error}
			may, with = append(may, places[i]), append(with, limit.Grant{})
			continue
		}
		later[places[i]] = time.Now().Add(d.result.After)
		s.metrics.Limited.WithLabelValues(r.Key.Channel).Inc()
	}
	return may, with, later, capped, nil
}

// settle writes down how members were sent to.
func (s *segments) settle(ctx context.Context, batch []unit, insist insist) error {
	list, lost := make([]segment.Ended, len(batch)), gone{}
	for i, u := range batch {
		p := u.(*part)
		list[i] = segment.Ended{Of: p.in, Size: p.is.size, Places: p.places, Bad: p.bad, Barred: p.barred, Account: p.is.account}
		if p.unasked {
			list[i].After = faultPause
		}
		if p.sent() {
			list[i].Results, list[i].Spares = p.ended.results, p.is.route.admission.Spares(time.Now(), p.is.account, "")
			_, list[i].Hears = p.is.route.Opened.By(p.is.account).(channel.Receiver)
			for k, r := range p.ended.results {
				lost.note(p.is.route.Key, p.outs[k].Recipient.Address, r)
			}
		}
		p.count()
	}
	err := s.holder.Settle(ctx, list, insist)
	if err == nil {
		lost.suppress(ctx, s.sieve, s.log)
	}
	return err
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
