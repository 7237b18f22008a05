// Package intern gives keys numbers, in the order in which they are first met, or values that are made then.
package intern

// ID returns the index in list of the entry with key k. If ids has none yet, it appends v to list. It does not
// allocate for a known key.
func ID[K comparable, V any, I ~int | ~int32 | ~uint32](ids map[K]I, list *[]V, k K, v V) I {
	id, ok := ids[k]
	if !ok {
		id = I(len(*list))
		ids[k] = id
		*list = append(*list, v)
	}
	return id
}

// Value returns the value of a key. It calls make if there is none yet.
func Value[K comparable, V any](values map[K]V, k K, make func() V) V {
	v, ok := values[k]
	if !ok {
		v = make()
		values[k] = v
	}
	return v
}
