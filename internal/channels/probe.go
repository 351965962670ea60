package channels

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
)

// Test checks that the provider can be reached: by the driver's own check, or by really sending
// out to an address. Nothing is queued. Unless it may go to anybody, it goes only to an address of the channel's test_to.
// The message is returned as it was sent.
func (s *Set) Test(ctx context.Context, tenant, name string, out channel.Outgoing, by work.Caller, anybody bool) (channel.Outgoing, channel.Result, error) {
	ch, err := s.store.Channel(ctx, tenant, name)
	if err != nil {
		return out, channel.Result{}, err
	}
	if ch.Accounts {
		return out, channel.Result{}, posthouse.Errorf(posthouse.CodeConflict, "the channel %q sends by accounts: test one of them", name)
	}
	opened, err := s.openStored(ch)
	if err != nil {
		return out, channel.Result{}, err
	}
	defer s.Close(opened)
	return s.try(ctx, ch, opened, opened.Driver, out, by, anybody)
}

// MayTest refuses recipients whom the channel's test_to does not list.
func (s *Set) MayTest(ctx context.Context, tenant, name string, to []posthouse.Recipient) error {
	ch, err := s.store.Channel(ctx, tenant, name)
	if err != nil {
		return err
	}
	opened, err := s.openStored(ch)
	if err != nil {
		return err
	}
	defer s.Close(opened)
	for i := range to {
		one, err := s.addressed(ctx, tenant, name, opened, to[i])
		if err == nil {
			err = listed(ch, opened, one)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// listed refuses a recipient whom a channel's test_to does not list.
func listed(ch posthouse.Channel, opened state.Opened, to posthouse.Recipient) error {
	is := func(text string) bool {
		if opened.Address != nil {
			kept, err := opened.Address(text)
			return err == nil && kept == to.Address
		}
		return text == to.Address
	}
	if to.Address != "" && slices.ContainsFunc(ch.TestTo, is) {
		return nil
	}
	return posthouse.Errorf(posthouse.CodeForbidden, "to is %.80q: whoever may not send messages tests with the addresses that the channel's test_to lists, %s",
		cmp.Or(to.Address, to.User), cmp.Or(strings.Join(ch.TestTo, ", "), "which is empty"))
}

// try checks a driver, or sends out by it.
func (s *Set) try(ctx context.Context, ch posthouse.Channel, opened state.Opened, driver channel.Driver, out channel.Outgoing, by work.Caller, anybody bool) (channel.Outgoing, channel.Result, error) {
	var err error
	if tester, ok := driver.(channel.Tester); ok && out.Recipient == (posthouse.Recipient{}) {
		ctx, cancel := context.WithTimeout(ctx, max(opened.Timeout, time.Second))
		defer cancel()
		return out, tester.Test(ctx), nil
	}
	if out.Recipient.User == "" && out.Recipient.Address == "" {
		return out, channel.Result{}, posthouse.Invalid("the test needs a recipient", []posthouse.Problem{{Path: "to", Message: "is required: the driver has no check of its own, so a real message is sent"}})
	}
	if out.Recipient, err = s.addressed(ctx, ch.Tenant, ch.Name, opened, out.Recipient); err != nil {
		return out, channel.Result{}, err
	}
	if !anybody {
		if err := listed(ch, opened, out.Recipient); err != nil {
			return out, channel.Result{}, err
		}
		by.MentionAll = false
	}
	if field := opened.CallsEverybody(out); field != "" {
		if err := by.MayMentionAll(field); err != nil {
			return out, channel.Result{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, max(opened.Timeout, time.Second))
	defer cancel()
	out.Message = posthouse.NewID()
	out.Delivery = posthouse.DeliveryID(out.Message, 1)
	out.Tenant, out.Channel, out.IdemKey = ch.Tenant, ch.Name, out.Delivery
	out.Kind, out.Priority, out.Attempt = "test", posthouse.Normal, 1
	return out, driver.Send(ctx, out), nil
}

// addressed is a recipient with his address, as a delivery to him would have it.
func (s *Set) addressed(ctx context.Context, tenant, name string, o state.Opened, to posthouse.Recipient) (posthouse.Recipient, error) {
	if to.Address == "" && to.User != "" {
		known, err := s.store.Addresses(ctx, tenant, name, []string{to.User})
		if err != nil {
			return to, err
		}
		if to.Address = known[to.User]; to.Address == "" && !o.OwnAddresses {
			to.Address = to.User
		}
	}
	if o.Address == nil || to.Address == "" {
		return to, nil
	}
	kept, err := o.Address(to.Address)
	if err != nil {
		return to, posthouse.Invalid("the test cannot be sent", []posthouse.Problem{{Path: "to.address", Message: err.Error()}})
	}
	to.Address = kept
	return to, nil
}

// Fit says what the channel's provider would cut or refuse of a content, as far as its driver knows.
func (s *Set) Fit(ctx context.Context, tenant, name string, content posthouse.Content) ([]posthouse.Problem, error) {
	opened, err := s.openOne(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	defer s.Close(opened)
	if fitter, ok := opened.Driver.(channel.Fitter); ok {
		return fitter.Fit(content), nil
	}
	return nil, nil
}

// openOne opens a channel's driver for one look.
func (s *Set) openOne(ctx context.Context, tenant, name string) (state.Opened, error) {
	ch, err := s.store.Channel(ctx, tenant, name)
	if err != nil {
		return state.Opened{}, err
	}
	return s.openStored(ch)
}

func (s *Set) openStored(ch posthouse.Channel) (state.Opened, error) {
	opened, err := s.OpenStored(ch)
	if err != nil {
		return opened, posthouse.Errorf(posthouse.CodeConflict, "the channel cannot be opened: %w", err)
	}
	return opened, nil
}
