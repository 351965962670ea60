package campaign

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/state"
)

// Directory finds users of the directory by their addresses.
type Directory interface {
	// UsersReached are users who have one of some names as an address on any channel, or as the end of their id or name, in whichever case:
	// the caller compares.
	UsersReached(ctx context.Context, tenant string, names []string) ([]posthouse.User, error)
	// Profiles are users by their ids.
	Profiles(ctx context.Context, tenant string, ids []string) (map[string]posthouse.User, error)
}

// Users are those of the directory who are members of a segment: whose address on the campaign's channel is the member's, or, of those without
// one, whose id is. They are read when somebody first asks, and anew once they are a minute old.
type Users struct {
	mu   sync.Mutex
	read time.Time
	by   map[string][]posthouse.User // by the member's address
}

// usersAge is how long it is taken for true which users members are.
const usersAge = time.Minute

// Of returns the users who are members, by the members' addresses; most members are nobody's. A channel that is nil, or a directory, knows none.
func (u *Users) Of(ctx context.Context, from Directory, ch *state.Channel, members []audience.Member) (map[string][]posthouse.User, error) {
	if from == nil || ch == nil {
		return nil, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.read.IsZero() && time.Since(u.read) < usersAge {
		return u.by, nil
	}
	at, is, names := time.Now(), make(map[string]bool, len(members)), make([]string, 0, len(members))
	for i := range members {
		address := members[i].Address
		is[address] = true
		names = append(names, waysToWrite(ch, address)...)
	}
	found, err := from.UsersReached(ctx, ch.Key.Tenant, names)
	if err != nil {
		return nil, err
	}
	by := map[string][]posthouse.User{}
	for i := range found {
		if address := reachedAt(ch, &found[i]); is[address] {
			by[address] = append(by[address], found[i])
		}
	}
	for _, list := range by { // in one order, whatever the database says
		slices.SortFunc(list, func(a, b posthouse.User) int { return strings.Compare(a.ID, b.ID) })
	}
	u.read, u.by = at, by
	return by, nil
}

// reachedAt is the address by which a channel reaches a user, as it keeps it: the id where the user has none.
func reachedAt(ch *state.Channel, u *posthouse.User) string {
	return ch.Kept(ch.Addressed(posthouse.Recipient{User: u.ID, Address: u.Addresses[ch.Key.Channel]}).Address)
}

// waysToWrite are the texts by which an address may stand in the directory: as the channel keeps it and, of a number with its country, without
// that too.
func waysToWrite(ch *state.Channel, address string) []string {
	list := []string{address}
	digits, is := strings.CutPrefix(address, "+")
	if !is {
		return list
	}
	list = append(list, digits, "00"+digits)
	for n := 1; n <= 3 && n < len(digits); n++ { // a country has up to three digits
		if ch.Kept(digits[n:]) == address {
			list = append(list, digits[n:])
		}
	}
	return list
}
