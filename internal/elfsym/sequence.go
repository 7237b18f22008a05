package elfsym

// The descriptors of restartable sequences, struct rseq_cs of linux/rseq.h: version and
// flags, first address, length, address of the abort handler. By the convention of
// librseq, which others follow, they are in a section of their own.
const (
	sequenceSection = "__rseq_cs"
	sequenceSize    = 32
	maxSequences    = 1 << 15
)

// Restartable reports whether a link-time address is in a restartable sequence
// (rseq(2)) that the file lists. A thread that is interrupted there, by a stop for
// instance, continues in the sequence's abort handler.
func (f *File) Restartable(vaddr uint64) bool {
	for _, s := range f.contents().sequences.get(f.readSequences) {
		if vaddr-s.start < s.end-s.start {
			return true
		}
	}
	return false
}

func (f *File) readSequences() []span {
	s := f.section(sequenceSection)
	if s == nil || s.size > maxSequences*sequenceSize {
		return nil
	}
	b := make([]byte, s.size-s.size%sequenceSize)
	if !f.relocated(b, s.addr) {
		return nil
	}
	var all []span
	for ; len(b) > 0; b = b[sequenceSize:] {
		start, n := le.Uint64(b[8:]), le.Uint64(b[16:])
		all = append(all, span{start, start + n})
	}
	return all
}
