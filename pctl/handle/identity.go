package handle

import (
	"context"
	"sync"
	"syscall"

	"ptools/internal/procfs"
)

// A condition is what has become of a process since it was last checked.
type condition uint8

const (
	same     condition = iota // the process, in the same program image
	replaced                  // the process has executed another program
	gone                      // it has ended; its number may be another process's
)

// An identity distinguishes a process from all others that have had or will have
// its number, and one of its program images from the next.
type identity interface {
	check() condition
	renew() error                   // makes the present image the one that check compares with
	wait(ctx context.Context) error // nil once the process has ended
	close()
}

// A process is the identity of a real process: number, start time, and a pidfd
// that refers to it whatever becomes of the number.
type process struct {
	pid   int
	start uint64 // ticks since boot
	fd    *procfs.PIDFD

	mu    sync.RWMutex
	image *procfs.Image
	frame layout // of the image, if its memory was shared or that is unknown; else zero
}

// A layout says where an exec has put things in the address space. It distinguishes
// images where another process keeps the address space of the old image alive.
type layout struct{ code, stack, args, env uint64 }

func layoutOf(st *procfs.Stat) layout {
	return layout{st.StartCode, st.StartStack, st.ArgStart, st.EnvStart}
}

// identify returns the identity of a process. It opens the pidfd first: if the
// pidfd is alive at the end, everything in between was read of its process.
func identify(pid int) (*process, error) {
	fd, err := procfs.OpenPIDFD(pid)
	if err != nil {
		return nil, err
	}
	p := &process{pid: pid, fd: fd}
	image, err := procfs.OpenImage(pid)
	if err == nil {
		var st procfs.Stat
		st, err = procfs.ReadStat(pid)
		p.start = st.StartTime
		p.take(image, &st)
	}
	if err == nil && !fd.Alive() {
		err = syscall.ESRCH
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *process) check() condition {
	if !p.fd.Alive() {
		return gone
	}
	p.mu.RLock()
	image, frame := p.image, p.frame
	p.mu.RUnlock()
	if !image.Current() {
		if !p.fd.Alive() {
			return gone
		}
		return replaced
	}
	if frame != (layout{}) {
		if st, err := procfs.ReadStat(p.pid); err == nil && layoutOf(&st) != frame {
			return replaced
		}
	}
	return same
}

func (p *process) wait(ctx context.Context) error { return p.fd.Wait(ctx) }

func (p *process) renew() error {
	image, err := procfs.OpenImage(p.pid)
	if err != nil {
		return err
	}
	st, _ := procfs.ReadStat(p.pid)
	p.take(image, &st)
	return nil
}

// take makes an image the one that check compares with. st was read after the image was opened, or is zero.
func (p *process) take(image *procfs.Image, st *procfs.Stat) {
	var frame layout
	if st.PID != 0 {
		// The process is a vfork child that has not exec'd yet: its exec leaves this image alive. Where kcmp(2) is
		// denied it may be one.
		if shared, err := procfs.SharesMemory(p.pid, st.PPID); err != nil || shared {
			frame = layoutOf(st)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.image != nil {
		p.image.Close()
	}
	p.image, p.frame = image, frame
}

func (p *process) close() {
	p.fd.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.image != nil {
		p.image.Close()
	}
}

// departed is the identity of a process that had ended before identify.
type departed struct{}

func (departed) check() condition           { return gone }
func (departed) renew() error               { return errGone }
func (departed) wait(context.Context) error { return nil }
func (departed) close()                     {}
