package work

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
)

// Directory says what replacing the directory of a tenant changes: the ids of users, sorted.
type Directory struct {
	Added, Changed, Removed []string
	Unchanged               int
	// Gained and Lost are how many users get an address of a channel that they had none of, and how many have one that they keep none of, by
	// channel: of users who stay.
	Gained, Lost map[string]int
	// Tag is of the directory as it was.
	Tag string
}

// Compare says what becomes of users that are there when others replace them, and which of these are to be stored.
func Compare(there map[string]posthouse.User, users []posthouse.User) (d Directory, fresh []posthouse.User) {
	d.Tag = DirectoryTag(there)
	wanted := map[string]posthouse.User{}
	for _, u := range users {
		wanted[u.ID] = u
	}
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		u := wanted[id]
		switch old, known := there[id]; {
		case !known:
			d.Added = append(d.Added, id)
		case sameUser(old, u):
			d.Unchanged++
			continue
		default:
			d.Changed = append(d.Changed, id)
			d.Gained, d.Lost = lacking(d.Gained, u, old), lacking(d.Lost, old, u)
		}
		fresh = append(fresh, u)
	}
	for _, id := range slices.Sorted(maps.Keys(there)) {
		if _, stays := wanted[id]; !stays {
			d.Removed = append(d.Removed, id)
		}
	}
	return d, fresh
}

// lacking adds the channels in which a user has an address and the other has none to a count, which is nil for none.
func lacking(n map[string]int, has, other posthouse.User) map[string]int {
	for channel := range has.Addresses {
		if _, too := other.Addresses[channel]; too {
			continue
		}
		if n == nil {
			n = map[string]int{}
		}
		n[channel]++
	}
	return n
}

// DirectoryTag names the state of a whole directory.
func DirectoryTag(there map[string]posthouse.User) string {
	h := sha256.New()
	for _, id := range slices.Sorted(maps.Keys(there)) {
		fmt.Fprintf(h, "%q %s\n", id, there[id].Tag())
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// sameUser compares all but the times of two users.
func sameUser(a, b posthouse.User) bool {
	roles := func(u posthouse.User) []string { return slices.Compact(slices.Sorted(slices.Values(u.Roles))) }
	return a.Name == b.Name && a.Type == b.Type && a.TimeZone == b.TimeZone && a.Language == b.Language && a.Manager == b.Manager && maps.Equal(a.Addresses, b.Addresses) && slices.Equal(roles(a), roles(b))
}
