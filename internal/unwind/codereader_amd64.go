package unwind

import "ptools/internal/elfsym"

// isStart reports whether pc is in the code with which the kernel starts a
// program or a thread: at the entry point, or in front of exit(2), which a
// thread's first function calls instead of a return.
func (r *codeReader) isStart(m *Mapping, pc uint64) bool {
	if entry := m.Table.obj.Entry(); entry != 0 && pc-m.Bias-entry < entrySize {
		return true
	}
	code := r.readCode(m, pc, 32)
	for i := 2; i+1 < len(code); i++ {
		if code[i] != 0x0f || code[i+1] != 0x05 {
			continue
		}
		const exit = 60
		return code[i-1] == exit && code[i-2] == 0xb0 || // mov $60,%al; syscall
			i >= 5 && string(code[i-5:i]) == "\xb8\x3c\x00\x00\x00" // mov $60,%eax; syscall
	}
	return false
}

// isGoexit reports whether the first function of a goroutine returns to pc. That address is
// behind the first instruction, of one byte, of a function that nothing calls
// (runtime.newproc1).
func (r *codeReader) isGoexit(pc uint64) bool {
	f, link, ok := r.goCaller(pc)
	return ok && f.Flags&elfsym.GoTopFrame != 0 && link == f.Entry
}

// isCrosscall reports whether pc is in crosscall2, the only caller of cgocallback.
func (r *codeReader) isCrosscall(pc uint64) bool {
	f, _, ok := r.goCaller(pc)
	return ok && f.Name == "crosscall2"
}
