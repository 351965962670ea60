package simulator

// recent remembers by key and forgets the oldest keys beyond its bound.
type recent[K comparable, V any] struct {
	most  int
	byKey map[K]V
	order []K // a ring once it is full
	next  int
	// forgotten is how many keys were dropped.
	forgotten int64
}

func newRecent[K comparable, V any](most int) recent[K, V] {
	return recent[K, V]{most: most, byKey: map[K]V{}}
}

// put sets a key's value, dropping the oldest key if there are too many.
func (t *recent[K, V]) put(key K, value V) {
	if _, known := t.byKey[key]; !known {
		t.make(key)
	}
	t.byKey[key] = value
}

func (t *recent[K, V]) make(key K) {
	if len(t.order) < t.most {
		t.order = append(t.order, key)
		return
	}
	delete(t.byKey, t.order[t.next])
	t.order[t.next] = key
	t.next = (t.next + 1) % t.most
	t.forgotten++
}
