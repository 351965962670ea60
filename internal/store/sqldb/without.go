package sqldb

// Without leaves out of list whose keys are taken, and all but the first of a key.
func Without[T any, K comparable](list []T, taken []K, key func(T) K) []T {
	seen := make(map[K]bool, len(taken)+len(list))
	for _, k := range taken {
		seen[k] = true
	}
	var rest []T
	for _, v := range list {
		if k := key(v); !seen[k] {
			seen[k] = true
			rest = append(rest, v)
		}
	}
	return rest
}
