package unwind

// A memo remembers what was found out, in sets that a hash of its key chooses. It begins small: most processes are looked at in few places, and
// psampled may have a thousand of them. When more was put into it than it has sets it is made anew, empty and larger.
type memo[S any] struct {
	sets  []S
	shift uint8 // of a hash
	put   int
}

// The logarithms of the number of sets that a memo has at first, and by how much that grows.
const (
	firstSetsLg = 4
	moreSetsLg  = 2
)

// set returns the set of a key. It is valid until the next call of room.
func (m *memo[S]) set(key uint64) *S {
	if m.sets == nil {
		m.resize(firstSetsLg)
	}
	return &m.sets[(key*0x9e3779b97f4a7c15)>>m.shift]
}

// room returns the set of a key, for what is put into it. There are at most 1<<mostLg sets.
func (m *memo[S]) room(key uint64, mostLg uint8) *S {
	if lg := 64 - m.shift; m.put >= len(m.sets) && lg < mostLg {
		m.resize(min(lg+moreSetsLg, mostLg))
	}
	m.put++
	return m.set(key)
}

func (m *memo[S]) resize(lg uint8) { m.sets, m.shift, m.put = make([]S, 1<<lg), 64-lg, 0 }
