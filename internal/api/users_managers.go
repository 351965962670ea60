package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/web"
)

// Bounds of the look at managers: how many warnings an answer has, and how many managers above a user are looked at.
const (
	mostDoubts = 20
	mostLevels = 50
)

// warn fills in the warnings of users that were read or stored. A look that fails is no warning: what is stored is stored.
func (u users) warn(c *web.Call, list []posthouse.User) {
	managers := u.managers(c, nil, list)
	for i := range list {
		if doubt := doubtOf(managers, list[i]); doubt != "" {
			list[i].Warnings = []string{doubt}
		}
	}
}

// doubts are the warnings about many users, in one list. Users that are gone are nobody's managers.
func (u users) doubts(c *web.Call, gone []string, list []posthouse.User) (warnings []string) {
	managers := u.managers(c, gone, list)
	for i := range list {
		if doubt := doubtOf(managers, list[i]); doubt != "" && len(warnings) < mostDoubts {
			warnings = append(warnings, doubt)
		}
	}
	return u.nowhere(c, list, twice(list, warnings))
}

// twice adds the users that a list has several times: each replaces the one before.
func twice(list []posthouse.User, warnings []string) []string {
	seen := map[string]int{}
	for i := range list {
		id := list[i].ID
		if seen[id]++; seen[id] == 2 && len(warnings) < mostDoubts {
			warnings = append(warnings, fmt.Sprintf("user %q stands in the list several times: the last one holds", id))
		}
	}
	return warnings
}

// nowhere adds the channels that users have addresses in, and that there are not: a column of a file may be spelt wrong.
func (u users) nowhere(c *web.Call, list []posthouse.User, warnings []string) []string {
	users := map[string]int{}
	for i := range list {
		for name := range list[i].Addresses {
			users[name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(users))[:min(len(users), mostDoubts)] {
		if _, err := u.channels.Get(c.Context(), c.Tenant(), name); posthouse.CodeOf(err) == posthouse.CodeNotFound && len(warnings) < mostDoubts {
			warnings = append(warnings, fmt.Sprintf("there is no channel %q, in which users have addresses: %d of these", name, users[name]))
		}
	}
	return warnings
}

// managers is the manager of each of the users and of everybody above them, as far as the directory knows them.
func (u users) managers(c *web.Call, gone []string, list []posthouse.User) map[string]string {
	managers := map[string]string{}
	for i := range list {
		managers[list[i].ID] = list[i].Manager
	}
	for range mostLevels {
		above := map[string]bool{}
		for _, manager := range managers {
			if _, known := managers[manager]; manager != "" && !known && !slices.Contains(gone, manager) {
				above[manager] = true
			}
		}
		found, err := u.store.Profiles(c.Context(), c.Tenant(), slices.Sorted(maps.Keys(above)))
		if err != nil || len(found) == 0 {
			break
		}
		for id, one := range found {
			managers[id] = one.Manager
		}
	}
	return managers
}

// doubtOf is what may not be meant of a user's manager, empty for nothing.
func doubtOf(managers map[string]string, one posthouse.User) string {
	if one.Manager == "" {
		return ""
	}
	if _, known := managers[one.Manager]; !known {
		return fmt.Sprintf("user %q: the directory does not know the manager %q", one.ID, one.Manager)
	}
	way := []string{one.ID}
	for at := one.Manager; at != "" && len(way) <= mostLevels; at = managers[at] {
		if way = append(way, at); at == one.ID {
			return fmt.Sprintf("user %q: the managers are a circle: %s", one.ID, strings.Join(way, ", "))
		}
	}
	return ""
}
