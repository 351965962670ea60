package channel

import (
	"fmt"
	"slices"
	"strings"
)

// UnknownName says that a name is not one of those known, and names the nearest three, or all where none is near. What names
// the kind of thing, such as "setting" or "variable".
func UnknownName(what, name string, known []string) string {
	all := slices.Sorted(slices.Values(known))
	if len(all) == 0 {
		return fmt.Sprintf("there is no %s of this name, and none is known", what)
	}
	if near := Nearest(name, all); len(near) > 0 {
		return fmt.Sprintf("there is no %s of this name; did you mean %s?", what, strings.Join(near, " or "))
	}
	return fmt.Sprintf("there is no %s of this name; known are %s", what, strings.Join(all, ", "))
}

// OneOf says which names are allowed of a few, such as "the channels are desk, oa"; of more it asks for the nearest three, and where none is near
// it names the first twenty.
func OneOf(what, name string, known []string) string {
	all := slices.Sorted(slices.Values(known))
	near := Nearest(name, all)
	switch {
	case len(all) == 0:
		return "no " + what + " are configured yet"
	case len(all) > few && len(near) > 0:
		return "did you mean " + strings.Join(near, " or ") + "?"
	case len(all) > mostListed:
		all = append(all[:mostListed:mostListed], "…")
	}
	return "the " + what + " are " + strings.Join(all, ", ")
}

// Want says that a value is none of those allowed, such as "is "x": want one of a, b". Of more than a few it asks first for the nearest three.
func Want[T ~string](value T, allowed []T) string {
	all := make([]string, len(allowed))
	for i, a := range allowed {
		all[i] = string(a)
	}
	if near := Nearest(string(value), all); len(all) > few && len(near) > 0 {
		return fmt.Sprintf("is %.60q: did you mean %s? Want one of %s", value, strings.Join(near, " or "), strings.Join(all, ", "))
	}
	return fmt.Sprintf("is %.60q: want one of %s", value, strings.Join(all, ", "))
}

// few are names that are read at a glance, and mostListed those that are listed at most.
const few, mostListed = 3, 20

// Nearest are the names at most a third of their letters away, closest first, three at most.
func Nearest(name string, known []string) []string {
	type candidate struct {
		name string
		away int
	}
	var found []candidate
	for _, k := range known {
		if away := distance(strings.ToLower(name), strings.ToLower(k)); away <= max(1, len(k)/3) {
			found = append(found, candidate{k, away})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.away - b.away })
	var out []string
	for _, c := range found[:min(3, len(found))] {
		out = append(out, c.name)
	}
	return out
}

// distance is how many letters to add, drop, change or swap with the next one, in bytes: "on" is one away from "no".
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			if a[i] == b[j] {
				row[j+1] = last[j]
				continue
			}
			row[j+1] = 1 + min(last[j], row[j], last[j+1])
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], 1+before[j-1])
			}
		}
	}
	return row[len(b)]
}
