package elfsym

import "io"

// A contents is what was read of a file and can be read again. When the file has to let go of it, a new one takes its place; those
// that use the old one go on with it.
type contents struct {
	generation uint32
	loaded     sectionCache
	tables     lazy[[]*symTable]
	index      lazy[*addrIndex]
	plt        lazy[*pltTable]
	goTable    lazy[*GoTable]
	mini       lazy[*File] // .gnu_debugdata
	sequences  lazy[[]span]
	byName     nameCache
}

// contents returns what was read of the file, and can be read.
func (f *image) contents() *contents {
	if f.now.Load() == nil {
		f.now.CompareAndSwap(nil, new(contents))
	}
	return f.now.Load()
}

// newProgram returns a file with a budget of its own, which its debug files share.
func newProgram(r io.ReaderAt, size int64, path string, src Source, base uint64) (*File, error) {
	b := newBudget(uint64(max(size, 0)))
	f, err := newFile(r, size, path, src, base, b)
	if err != nil {
		b.leave()
		return nil, err
	}
	bind(b.holding, f, forget)
	b.fix(f.hdr.size())
	return f, nil
}

// forget lets go of what was read of the file and can be read again. It reports false if that is being read just now.
func forget(f *File) bool {
	if !drop(f) {
		return false
	}
	f.begin()
	return true
}

// drop is forget for the file itself and the files with its debug information.
func drop(f *File) bool {
	if d := f.lines.peek(); d != nil && !d.drop() {
		return false
	}
	if o := f.other.peek(); o != nil && !drop(o) {
		return false
	}
	f.now.Store(&contents{generation: f.contents().generation + 1})
	return true
}

// Generation changes when the file lets go of what was read of it. Slices of Section may then be let go of as well.
func (f *image) Generation() uint32 { return f.contents().generation }
