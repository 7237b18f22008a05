package pctl

import (
	"strings"

	"ptools/internal/procfs"
)

// DumpsCore reports whether the kernel is writing a core dump of a process. Its threads cannot be stopped any more, and it
// ends when the core is written. It can be released meanwhile. The answer is no before Linux 4.15.
func DumpsCore(p *Process) bool {
	st, err := procfs.ReadStatus(p.PID())
	return err == nil && st.CoreDumping
}

// ChecksLeaks reports whether a process has LeakSanitizer, by itself or as a part of AddressSanitizer. At its exit it attaches
// to its own threads, which fails while they are traced: its report is lost, and its status is not 0. It is recognized by a
// shared object, the first that the program needs, or by a symbol of the program.
func ChecksLeaks(p *Process) bool {
	const symbol = "__lsan_do_leak_check"
	for _, o := range p.space().Named("a.out") {
		if o.File != nil && (isSanitizer(o.File.FirstNeeded()) || len(o.File.ByName(symbol)) > 0) {
			return true
		}
	}
	for _, o := range p.space().Mapped() {
		if isSanitizer(o.Name) {
			return true
		}
	}
	return false
}

// isSanitizer reports whether a shared object of gcc's or clang's has LeakSanitizer.
func isSanitizer(name string) bool {
	for _, prefix := range [...]string{"libasan.so", "liblsan.so", "libhwasan.so", "libclang_rt.asan", "libclang_rt.hwasan", "libclang_rt.lsan"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
