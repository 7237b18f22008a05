package sample

import (
	"ptools/internal/procfs"
	"ptools/internal/profile"
)

// former is a part of a process's profile to which nothing is added any more. Looking up its last names may take as
// long as reading the files of its program. The ticks that follow do not wait for that.
type former struct {
	image *heldImage
	space *profile.Space
	namer *namer
	gone  bool // the process has another image by now
}

// current makes sure that the present image is open. It reports whether there is one, and whether the number is now that
// of another process. If the process has ended, its last image stays. Ticks before the record of an exec are of the image before.
func (s *timed) current() (have, other bool) {
	if s.image != nil && (!s.execing.told || !s.image.Stale()) {
		return true, false
	}
	stat, err := procfs.ReadStat(s.pid)
	if err != nil {
		return s.image != nil, false
	}
	if stat.StartTime != s.start {
		return false, true
	}
	s.execing.open()
	image, err := s.w.open(s.pid)
	if err != nil {
		if s.image == nil && !vanished(err) {
			s.err = err
		}
		return s.image != nil, false
	}
	s.leave()
	s.execing.take(image)
	s.open(holdImage(image))
	return true, false
}

// open makes image the present one.
func (s *timed) open(image *heldImage) {
	s.image, s.err = image, nil
	s.space = s.profile.Space(s.pid, image.Executable(), image)
	s.namer = newNamer(image, queueOf(s.pid))
	s.refresh = refreshing{}
	clear(s.calls)
}

// mostFormer is how many parts of a profile may lack names. A process that executes programs a hundred times a
// second, while the symbols of the first are being read, has that many. If there are more, the names of the oldest
// are waited for.
const mostFormer = 100

// leave ends the use of the present image. Its part of the profile becomes a former one, until it has its names.
func (s *timed) leave() {
	if s.image == nil {
		return
	}
	s.former = append(s.former, former{s.image, s.space, s.namer, true})
	s.image = nil
	s.nameFormer()
}

// nameFormer releases the former parts of the profile that have all their names.
func (s *timed) nameFormer() {
	beyond := len(s.former) - mostFormer
	kept := s.former[:0]
	for i, f := range s.former {
		if i >= beyond && !f.namer.finished(f.space) {
			kept = append(kept, f)
			continue
		}
		f.namer.stop()
		f.space.ResolveAll()
		if f.gone {
			f.space.Retire()
		}
		f.image.release()
	}
	clear(s.former[len(kept):])
	s.former = kept
}

// close releases everything.
func (s *timed) close() {
	for _, f := range s.former {
		dismiss(f.image, f.namer)
	}
	s.former = nil
	if s.image != nil {
		dismiss(s.image, s.namer)
		s.image = nil
	}
}

// dismiss ends the namer of an image, which may be in the middle of reading a file, and then releases the image.
func dismiss(h *heldImage, n *namer) {
	n.stop()
	h.release()
}

// images returns the images that have the names of the profile. Each is held once more.
func (s *timed) images() []*heldImage {
	var list []*heldImage
	for _, f := range s.former {
		list = append(list, f.image)
	}
	if s.image != nil {
		list = append(list, s.image)
	}
	for _, h := range list {
		h.holds.Add(1)
	}
	return list
}
