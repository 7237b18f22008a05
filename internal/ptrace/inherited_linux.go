package ptrace

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"sync"
	"syscall"
	"unsafe"
)

// sigIgn is SIG_IGN.
const sigIgn = 1

// anchor is a variable whose address is known in the file and in memory.
var anchor = [1]uint64{1}

// inheritedIgnored returns the signals that were ignored when this program began. The runtime sets handlers of its own for
// nearly all, which execve(2) replaces by the default action. It keeps what it has found in runtime.fwdSig and shows it to
// nobody, so the variable is found by the symbols of our own file. A program without symbols knows of none.
var inheritedIgnored = sync.OnceValue(func() (signals []uintptr) {
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		return nil
	}
	defer f.Close()
	symtab, strtab := f.Section(".symtab"), f.Section(".strtab")
	if symtab == nil || strtab == nil {
		return nil
	}
	symbols, err := symtab.Data()
	names, err2 := strtab.Data()
	if err != nil || err2 != nil {
		return nil
	}
	found, size := valueOf(symbols, names, "runtime.fwdSig")
	here, _ := valueOf(symbols, names, "ptools/internal/ptrace.anchor")
	const most = 65 // the runtime's _NSIG
	if found == 0 || here == 0 || size != most*8 {
		return nil
	}
	at := uintptr(unsafe.Pointer(&anchor)) + uintptr(found-here) // the two are as far apart in memory
	for n, handler := range *atAddress(&at) {
		if handler == sigIgn {
			signals = append(signals, uintptr(n))
		}
	}
	return signals
})

// atAddress returns the array at an address, which is not in Go's heap.
func atAddress(at *uintptr) *[65]uintptr { return *(**[65]uintptr)(unsafe.Pointer(at)) }

// valueOf returns the value and the size of a symbol in a symbol table, 0 if there is none.
func valueOf(symbols, names []byte, name string) (value, size uint64) {
	at := bytes.Index(names, []byte("\x00"+name+"\x00"))
	if at < 0 {
		return 0, 0
	}
	for ; len(symbols) >= elf.Sym64Size; symbols = symbols[elf.Sym64Size:] {
		if binary.LittleEndian.Uint32(symbols) == uint32(at+1) {
			return binary.LittleEndian.Uint64(symbols[8:]), binary.LittleEndian.Uint64(symbols[16:])
		}
	}
	return 0, 0
}

// ignoreAction is the kernel's struct sigaction for a signal that is ignored.
type ignoreAction struct{ handler, flags, restorer, mask uintptr }

// ignore makes the new process ignore what was ignored when this program began.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (p *childPlan) ignore() (e syscall.Errno) {
	for i := 0; i < len(p.ignored); i++ {
		_, _, e = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, p.ignored[i], uintptr(unsafe.Pointer(&p.action)), 0, unsafe.Sizeof(p.action.mask), 0, 0)
		if e != 0 {
			return e
		}
	}
	return 0
}
