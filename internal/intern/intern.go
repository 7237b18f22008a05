// Package intern numbers distinct values in the order in which they are first met.
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
