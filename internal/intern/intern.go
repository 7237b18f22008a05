// Package intern makes what belongs to a key when the key is first met: a number, in that order, or a value.
package intern

// ID returns the index in list of the entry with key k. If ids has none yet that is v, which is appended. It does not
// allocate for a key that is known.
func ID[K comparable, V any, I ~int | ~int32 | ~uint32](ids map[K]I, list *[]V, k K, v V) I {
	id, ok := ids[k]
	if !ok {
		id = I(len(*list))
		ids[k] = id
		*list = append(*list, v)
	}
	return id
}

// Value returns the value of a key. If there is none yet, make makes it.
func Value[K comparable, V any](values map[K]V, k K, make func() V) V {
	v, ok := values[k]
	if !ok {
		v = make()
		values[k] = v
	}
	return v
}
