package route

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/intake"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Ending is what whoever got something of a notification hears once what it told of is over.
type Ending struct {
	// Draft is it but for channel, recipient and content. Its dedup_key is the same in all notifications that are over by one word.
	Draft posthouse.Draft `json:"draft"`
	// Content is what it says, by the channel.
	Content map[string]*posthouse.Content `json:"content"`
}

// endingWindow is how long nobody hears twice of one end: an outcome that is unknown may be decided weeks later.
const endingWindow = posthouse.Duration(60 * 24 * time.Hour)

// endingOf is what is heard of the end of a notification; nil where nothing is. says keeps what was asked for.
func (n *notification) endingOf(over *work.Over, says map[string]*posthouse.Content) *Ending {
	if over.Content == nil {
		return nil
	}
	ending := &Ending{Draft: over.Tells, Content: map[string]*posthouse.Content{}}
	for _, name := range n.channels() {
		if says[name] == nil {
			says[name] = over.Content(name)
		}
		ending.Content[name] = says[name]
	}
	return ending
}

// got reports whether a delivery has told somebody, or may have.
func got(d *posthouse.NotificationDelivery) bool {
	return d.State == posthouse.Sent || d.State == posthouse.Delivered || d.State == posthouse.Unknown
}

// owes lists the deliveries whose people have not heard of the end yet and are to. A delivery that is under way joins them when its outcome is written,
// in the same transaction.
func (n *notification) owes() (list []*posthouse.NotificationDelivery) {
	if n.Ending == nil || n.ResolvedAt.IsZero() {
		return nil
	}
	for i := range n.Deliveries {
		d := &n.Deliveries[i]
		same := func(o *posthouse.NotificationDelivery) bool { return o.User == d.User && o.Channel == d.Channel }
		if got(d) && !slices.ContainsFunc(n.Ends, func(e posthouse.NotificationEnd) bool { return e.User == d.User && e.Reached == d.Channel }) && !slices.ContainsFunc(list, same) {
			list = append(list, d)
		}
	}
	return list
}

// owe has the planner tell of the end where somebody is to hear of it.
func (n *notification) owe(now time.Time) {
	switch {
	case len(n.owes()) == 0:
		n.tell = time.Time{}
	case n.tell.IsZero():
		n.tell = now
	}
}

// tellEnd makes the messages that tell people of the end. They are stored in one transaction with the plan that names these people, over the version
// that was read: nobody hears twice, and a crash stores neither.
func (r *Router) tellEnd(ctx context.Context, n *notification, now time.Time) (drafts []posthouse.Draft, err error) {
	for _, d := range n.owes() {
		end := posthouse.NotificationEnd{User: d.User, Reached: d.Channel, Skipped: SkippedCall, At: now}
		for _, name := range r.endsBy(n, d) {
			if slices.ContainsFunc(n.Ends, func(e posthouse.NotificationEnd) bool { return e.User == d.User && e.Channel == name }) {
				end.Channel, end.Skipped, end.Detail = name, "", "" // they hear of it there already
				break
			}
			one := n.endTo(d, name)
			_, err := r.Intake.Accept(ctx, intake.Request{Tenant: n.Tenant, Caller: work.Caller{Sight: work.SeeAll(), MentionAll: n.MentionAll}, Drafts: []posthouse.Draft{one}, DryRun: true})
			if _, invalid := problemsOf(err); invalid || posthouse.CodeOf(err) == posthouse.CodeForbidden {
				end.Skipped, end.Detail = SkippedRefused, state.Plain(name+": "+err.Error(), 1000)
				continue
			}
			if err != nil {
				return nil, err
			}
			end.Channel, end.Skipped, end.Detail = name, "", ""
			drafts = append(drafts, one)
			break
		}
		n.Ends = append(n.Ends, end)
	}
	n.tell = time.Time{}
	return drafts, nil
}

// endsBy lists the channels by which the recipient of a delivery may hear of the end: the delivery's own. Where that one calls people, the channels of
// its step that do not call, and for a user of the directory those of the route too. Nobody is called for what is over.
func (r *Router) endsBy(n *notification, d *posthouse.NotificationDelivery) (names []string) {
	calls := func(name string) bool { return r.Calls != nil && r.Calls(n.Tenant, name) }
	if !calls(d.Channel) {
		return []string{d.Channel}
	}
	others := n.step(d.Step).Channels
	if to := n.recipient(d); to.User != "" {
		others = slices.Concat(others, n.channels())
	}
	for _, name := range others {
		if !calls(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// endTo is what the recipient of a delivery hears of the end by a channel.
func (n *notification) endTo(d *posthouse.NotificationDelivery, name string) posthouse.Draft {
	one, to := n.Ending.Draft, n.recipient(d)
	sum := sha256.Sum256([]byte(one.DedupKey + "\x00" + cmp.Or(to.User, to.Address)))
	one.Channel, one.To, one.Content = name, []posthouse.Recipient{to}, n.Ending.Content[name]
	one.DedupKey, one.DedupWindow = "over:"+hex.EncodeToString(sum[:]), endingWindow
	return one
}
