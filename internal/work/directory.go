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
