package hostile

import "bytes"

// compressed adds a section that claims to be size bytes, packed by zlib (1) or zstd (2).
func (f *File) compressed(name string, kind, size uint64, packed []byte) {
	head := le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, kind), size), 1)
	f.section(section{name: name, kind: 1, flags: 0x800}, append(head, packed...))
}

// window: a frame of zstd asks for the largest window there is.
func window(f *File, n int) {
	frame := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0xff}, le.AppendUint32(nil, 1|1<<1|128<<13)[:3]...)
	f.compressed(".debug_line", 2, 128<<10, append(frame, 0))
	f.compressed(".debug_str", 2, 1<<62, append(frame, 0))
	f.unit(64)
}

// skipped: millions of frames of zstd have nothing in them.
func skipped(f *File, n int) {
	empty := append(le.AppendUint32(nil, 0x184d2a50), 0, 0, 0, 0) // skippable
	frame := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, 0}, le.AppendUint32(nil, 1)[:3]...)
	f.compressed(".debug_line", 2, 1<<20, bytes.Repeat(append(empty, frame...), or(n, 500_000)))
	f.unit(64)
}

// stored: millions of blocks of zlib have nothing in them.
func stored(f *File, n int) {
	f.compressed(".debug_line", 1, 1<<20, append([]byte{0x78, 1}, bytes.Repeat([]byte{0, 0, 0, 0xff, 0xff}, or(n, 1<<21))...))
	f.unit(64)
}

// dictionary: packed symbols ask for a dictionary of 4 GB.
func dictionary(f *File, n int) {
	head := append([]byte("\xfd7zXZ\x00\x00\x04\x00\x00\x00\x00"), 2, 0, 0x21, 1, 40, 0, 0, 0, 0, 0, 0, 0)
	chunk := []byte{1, 0xff, 0xff} // 64 KB as they are; the first resets the dictionary
	f.repeat(or(n, 30), section{name: ".gnu_debugdata", kind: 1}, append(append(head, append(chunk, make([]byte, 1<<16)...)...), 0))
}
