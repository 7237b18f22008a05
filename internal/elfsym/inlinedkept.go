package elfsym

const (
	keptCallSize   = 96 // of a function whose calls are kept, without its names
	keptCallerSize = 16 // of one that it was inlined into
)

// inlinedCalls has, for functions that were inlined, the offsets of the functions that they were inlined into.
type inlinedCalls map[functionNames][]uint64

// functionNames are the name of a function, and that in the file.
type functionNames struct{ name, raw string }

// keptCalls are the calls that a search has found, as long as there is memory for them.
type keptCalls struct {
	b     *budget
	calls inlinedCalls // nil: there was too little memory
	bytes uint64
}

func (k *keptCalls) add(f functionNames, in uint64) {
	if k.calls == nil {
		return
	}
	all, known := k.calls[f]
	if known && all[len(all)-1] == in {
		return
	}
	n := uint64(keptCallerSize)
	if !known {
		n += uint64(keptCallSize + len(f.name) + len(f.raw))
	}
	if k.bytes+n > uint64(k.b.tables()) || !k.b.spare(n) {
		k.repay()
		return
	}
	k.bytes += n
	k.calls[f] = append(all, in)
}

func (k *keptCalls) repay() {
	k.b.repay(k.bytes)
	k.calls, k.bytes = nil, 0
}
