package suppress

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Asked knows the addresses to which nothing is sent on a channel, with the reason of each.
type Asked interface {
	Suppressed(ctx context.Context, now time.Time, tenant, channel string, addresses []string) (map[string]string, error)
}

// Kept keeps suppressions.
type Kept interface {
	Suppress(ctx context.Context, now time.Time, list []posthouse.Suppression) error
}

// Sieve reports which started recipients are suppressed. It asks the database after the start is
// stored, each time: a suppression that was stored before the start is always found, whichever process stored it.
type Sieve struct {
	Asked Asked
	Kept  Kept
	Now   func() time.Time // the database's clock
	// Choices are what users of the directory have chosen. Defaults to nothing.
	Choices *Choices
	// Overdue lists the deliveries of a notification that are not to start any more, since the time of their step is over. Defaults to none.
	Overdue func(ctx context.Context, tenant, notification string, now time.Time) (deliveries []string, err error)
}

// Barred is why nothing is sent to a recipient.
type Barred struct {
	Reason string // address_suppressed, preference, preference_channel or step_over
	Why    string
}

// why is shown where a suppression names no reason.
const why = "its address is suppressed"

const whyOver = "the time of its step is over"

// Items finds, by their places, those of the deliveries of a channel to whose addresses nothing is sent, or whose recipients do not want
// them.
func (s *Sieve) Items(ctx context.Context, ch *state.Channel, items iter.Seq[*work.Item]) (map[int]Barred, error) {
	unwanted, err := s.Choices.items(ctx, ch.Key, items)
	if err != nil {
		return nil, err
	}
	suppressed, err := s.items(ctx, ch, items)
	if err != nil {
		return nil, err
	}
	found, err := s.overdue(ctx, items)
	if err != nil || len(found)+len(unwanted)+len(suppressed) == 0 {
		return nil, err
	}
	maps.Copy(found, unwanted)
	for i, why := range suppressed {
		if _, is := found[i]; !is {
			found[i] = Barred{state.ReasonSuppressed, why}
		}
	}
	return found, nil
}

// Members finds, by their places, those of a campaign's members to whom nothing of a kind is sent by a channel: their addresses are suppressed,
// or are those of users who do not want it. users says whose an address is; it is asked where a user of the tenant has chosen something. Where
// several users have one address, one of them who does not want it is enough.
func (s *Sieve) Members(ctx context.Context, ch *state.Channel, kind string, addresses []string, users func() (map[string][]posthouse.User, error)) (map[int]Barred, error) {
	found := map[int]Barred{}
	if s.Choices.Any(ch.Key.Tenant) {
		whose, err := users()
		if err != nil {
			return nil, err
		}
		var wishes []Wish
		var places []int
		for i, address := range addresses {
			for _, u := range whose[address] {
				wishes, places = append(wishes, Wish{User: u.ID, Kind: kind, Channel: ch.Key.Channel}), append(places, i)
			}
		}
		refused, err := s.Choices.Refused(ctx, ch.Key.Tenant, wishes)
		if err != nil {
			return nil, err
		}
		for k, place := range places {
			if why, is := refused[k]; is {
				found[place] = why
			}
		}
	}
	if ch.Settings.Exempt(kind) {
		return found, nil
	}
	suppressed, err := s.Addresses(ctx, ch, addresses)
	for i, why := range suppressed {
		if _, is := found[i]; !is {
			found[i] = Barred{state.ReasonSuppressed, why}
		}
	}
	return found, err
}

// overdue finds those that started after the time of their step was over: the planner, which withdraws what has not started then, may have stood
// still as long as the rest of its process. A step's time may be longer by what quiet hours took of it: its notification knows.
func (s *Sieve) overdue(ctx context.Context, items iter.Seq[*work.Item]) (map[int]Barred, error) {
	found, place := map[int]Barred{}, -1
	if s.Overdue == nil {
		return found, nil
	}
	var now time.Time
	for item := range items {
		place++
		m := item.Message
		if m == nil || m.StepUntil.IsZero() {
			continue
		}
		if now.IsZero() {
			now = s.Now()
		}
		if m.StepUntil.After(now) {
			continue
		}
		late, err := s.Overdue(ctx, m.Tenant, m.Notification, now)
		if err != nil {
			return nil, err
		}
		if slices.Contains(late, item.Delivery.ID) {
			found[place] = Barred{state.ReasonStepOver, whyOver}
		}
	}
	return found, nil
}

// items finds those whose addresses are suppressed.
func (s *Sieve) items(ctx context.Context, ch *state.Channel, items iter.Seq[*work.Item]) (map[int]string, error) {
	var addresses []string
	for item := range items {
		address := ""
		if m := item.Message; m == nil || !ch.Settings.Exempt(m.Kind) {
			address = ch.Addressed(item.Delivery.Recipient).Address
		}
		addresses = append(addresses, address)
	}
	return s.Addresses(ctx, ch, addresses)
}

// Addresses finds, by their places, the addresses of a channel to which nothing is sent, with the reason. Empty ones are none.
func (s *Sieve) Addresses(ctx context.Context, ch *state.Channel, addresses []string) (map[int]string, error) {
	asked := slices.Clone(addresses)
	for _, a := range addresses { // one that was stored before addresses were folded is kept as it was written
		for _, form := range []string{Fold(a), Everywhere(a)} {
			if form != a {
				asked = append(asked, form)
			}
		}
	}
	slices.Sort(asked)
	asked = slices.DeleteFunc(slices.Compact(asked), func(a string) bool { return a == "" })
	if len(asked) == 0 {
		return nil, nil
	}
	reasons, err := s.Asked.Suppressed(ctx, s.Now(), ch.Key.Tenant, ch.Key.Channel, asked)
	if err != nil || len(reasons) == 0 {
		return nil, err
	}
	found := map[int]string{}
	for i, a := range addresses {
		reason, is := reasons[a]
		for _, form := range []string{Fold(a), Everywhere(a)} {
			if !is {
				reason, is = reasons[form]
			}
		}
		if is && a != "" {
			found[i] = cmp.Or(reason, why)
		}
	}
	return found, nil
}

// Gone suppresses addresses of a channel that reach nobody any more, as its provider has answered; reasons are the provider's codes by
// address. Those that are suppressed already, and got a message of an exempt kind, stay as somebody has stored them. What cannot be
// stored is said again by the next answer.
func (s *Sieve) Gone(ctx context.Context, key state.Key, reasons map[string]string) error {
	if len(reasons) == 0 {
		return nil
	}
	gone := make(map[string]string, len(reasons))
	for address, reason := range reasons {
		gone[Fold(address)] = reason
	}
	addresses := slices.Sorted(maps.Keys(gone))
	known, err := s.Asked.Suppressed(ctx, s.Now(), key.Tenant, key.Channel, addresses)
	if err != nil {
		return err
	}
	var list []posthouse.Suppression
	for _, address := range addresses {
		if _, is := known[address]; is {
			continue
		}
		list = append(list, posthouse.Suppression{
			Tenant: key.Tenant, Channel: key.Channel, Address: address, Reason: gone[address], Source: posthouse.SuppressedByCallback,
		})
	}
	if len(list) == 0 {
		return nil
	}
	return s.Kept.Suppress(ctx, s.Now(), list)
}
