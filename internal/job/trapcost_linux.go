package job

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"ptools/pctl"
)

// The program that MeasureTrap starts goes round a loop with a push and a pop, and ends.
const (
	spotBase   = 0x400000
	spotHeader = 64 + 56 // ELF header, program header
	spotPush   = spotBase + spotHeader + 5
)

var spotCode = []byte{
	0xb9, 0, 0, 0, 0, // mov $rounds, %ecx
	0x50,       // push %rax
	0x58,       // pop %rax
	0xff, 0xc9, // dec %ecx
	0x75, 0xfa, // jne to the push
	0x31, 0xff, // xor %edi, %edi
	0xb8, 60, 0, 0, 0, // mov $SYS_exit, %eax
	0x0f, 0x05, // syscall
}

// The rounds that count come after some that warm up.
const (
	spotWarm   = 100
	spotRounds = 200
)

// spot returns the program, an ELF file of x86-64 with one segment.
func spot() []byte {
	b := binary.LittleEndian
	code := append([]byte(nil), spotCode...)
	b.PutUint32(code[1:], spotWarm+spotRounds)
	size := uint64(spotHeader + len(code))
	f := []byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	f = b.AppendUint16(f, 2)  // ET_EXEC
	f = b.AppendUint16(f, 62) // EM_X86_64
	f = b.AppendUint32(f, 1)
	for _, n := range []uint64{spotBase + spotHeader, 64, 0} { // entry, program headers, sections
		f = b.AppendUint64(f, n)
	}
	f = b.AppendUint32(f, 0)
	for _, n := range []uint16{64, 56, 1, 0, 0, 0} {
		f = b.AppendUint16(f, n)
	}
	f = b.AppendUint32(f, 1) // PT_LOAD
	f = b.AppendUint32(f, 5) // readable and executable
	for _, n := range []uint64{0, spotBase, spotBase, size, size, 0x1000} {
		f = b.AppendUint64(f, n)
	}
	return append(f, code...)
}

// MeasureTrap measures how long a thread is stopped at a breakpoint that is an int3, in a program that it starts: the median. It takes some 10 ms.
func MeasureTrap(ctx context.Context, s *pctl.Session) (time.Duration, error) {
	if runtime.GOARCH != "amd64" {
		return 0, errors.ErrUnsupported
	}
	fd, err := unix.MemfdCreate("spot", unix.MFD_CLOEXEC)
	if err != nil {
		return 0, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "spot")
	defer f.Close()
	if _, err := f.Write(spot()); err != nil {
		return 0, err
	}
	p, err := s.Create(ctx, &pctl.Command{Path: "/proc/self/fd/" + strconv.Itoa(fd)},
		&pctl.CreateOptions{Stop: []pctl.Point{pctl.PointCreate}, Release: pctl.ModeKill, Trap: pctl.TrapInt3})
	if err != nil {
		return 0, err
	}
	defer p.Close()
	var times []time.Duration // from each hit to the next
	last := time.Now()
	_, err = p.Break(ctx, pctl.Where{Addr: spotPush}, func(*pctl.Hit) {
		now := time.Now()
		times, last = append(times, now.Sub(last)), now
	})
	if err != nil {
		return 0, err
	}
	if err := p.Continue(ctx); err != nil {
		return 0, err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if len(times) != spotWarm+spotRounds {
		return 0, errors.New("breakpoints of a program of our own were not hit")
	}
	times = times[spotWarm:]
	slices.Sort(times)
	return times[len(times)/2], nil
}
