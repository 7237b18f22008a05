package guard

import "encoding/binary"

// op is what a message asks for.
type op byte

const (
	opReplace op = iota + 1 // forget what stands in a range, then note patches
	opMore                  // note further patches
	opOpen                  // the memory that comes with it is a target's
	opClose                 // forget a target
)

// A patch is one byte of ours in a target's text.
type patch struct {
	addr       uint64
	ours, orig byte
}

// A message is one datagram. Fields that an op has no use for are zero.
type message struct {
	op      op
	id      uint32 // of the target's address space
	addr, n uint64 // range of opReplace
	patches []patch
}

const (
	headSize    = 1 + 4 + 8 + 8
	patchSize   = 8 + 1 + 1
	mostPatches = 1024 // in one message, which has to fit the socket's buffer
	mostBytes   = headSize + mostPatches*patchSize
)

// append encodes the message behind b.
func (m *message) append(b []byte) []byte {
	b = append(b, byte(m.op))
	b = binary.LittleEndian.AppendUint32(b, m.id)
	b = binary.LittleEndian.AppendUint64(b, m.addr)
	b = binary.LittleEndian.AppendUint64(b, m.n)
	for _, p := range m.patches {
		b = binary.LittleEndian.AppendUint64(b, p.addr)
		b = append(b, p.ours, p.orig)
	}
	return b
}

// decode undoes append; ok is false for what append does not make.
func (m *message) decode(b []byte) (ok bool) {
	if len(b) < headSize || (len(b)-headSize)%patchSize != 0 {
		return false
	}
	m.op = op(b[0])
	m.id = binary.LittleEndian.Uint32(b[1:])
	m.addr = binary.LittleEndian.Uint64(b[5:])
	m.n = binary.LittleEndian.Uint64(b[13:])
	m.patches = m.patches[:0]
	for b = b[headSize:]; len(b) > 0; b = b[patchSize:] {
		m.patches = append(m.patches, patch{binary.LittleEndian.Uint64(b), b[8], b[9]})
	}
	return opReplace <= m.op && m.op <= opClose
}
