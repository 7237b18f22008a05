package guard

import (
	"syscall"
	"unsafe"
)

// A process that was forked off a target has the traps of its parent until control has cleaned it. Control may end
// before that. No descriptor of ours reaches such a process, so the guard process looks for it in /proc: among the
// children of the threads of each target, and their children.
//
// If a fork is under way while the traps are lifted, the child becomes visible after that, with traps. So the guard
// process looks again (descents).

// A kinsman is a process whose children are looked for.
type kinsman struct {
	pid    uint64
	mem    uint32 // identifies the records of the traps that it has or had
	layout uint64 // of the address space that the traps were planted in; 0: not known yet
}

// noLayout is the layout of no process. It is for a rehearsal without traps, which brings what is needed into memory.
const noLayout = 1

const (
	mostKin  = 8 << 10
	roomPath = 64
	roomText = 1 << 10
	roomList = 4 << 10
)

// A room is the work space of a thread of the guard process. It is too large for the thread's stack.
type room struct {
	path     [roomPath]byte
	text     [roomText]byte
	tasks    [roomList]byte // entries of a directory
	children [roomList]byte
	kin      [mostKin]kinsman
	found    int
}

var rooms [mostPairs]room

// descend is disinherit and children disinheritOf, called through variables. Where the linker can follow the calls of nosplit
// functions it bounds their stack, to less than a path through these takes, or, where go test -fuzz makes the frames larger, through
// two of them. They do have more: the stack of a thread that was made for them, or that of a goroutine, below which there is memory
// that a fork does not use.
var descend, children = disinherit, (*room).disinheritOf

// disinherit removes the traps of the targets from their descendants.
//
//go:norace
//go:nosplit
//go:nocheckptr
func disinherit(words []uint64, i int) {
	r := &rooms[i]
	r.found = 0
	for n := range top(words) {
		if p, ok := read(words, n); ok && !r.has(p.pid, p.mem) && p.there(&r.text[0]) {
			r.add(kinsman{p.pid, p.mem, 0})
		}
	}
	if top(words) == 0 {
		r.add(kinsman{words[pidWord], 0, noLayout})
	}
	for n := 0; n < r.found; n++ {
		r.disinheritFrom(words, &r.kin[n])
	}
}

// has reports whether a process is among those that were added last. Records of one process mostly follow each other, and
// it does no harm to add a process twice.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (r *room) has(pid uint64, mem uint32) bool {
	for n := r.found - 1; n >= 0 && n >= r.found-8; n-- {
		if r.kin[n].pid == pid && r.kin[n].mem == mem {
			return true
		}
	}
	return false
}

// there reports whether the address space that a trap was planted in still exists. The target may have executed another
// program without control having noticed. b is work space.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (p *patch) there(b *byte) bool {
	n, _ := raw(syscall.SYS_PREAD64, uintptr(p.mem), uintptr(unsafe.Pointer(b)), 1, uintptr(p.addr))
	return n == 1
}

// add makes disinherit look for the children of a process.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (r *room) add(k kinsman) {
	if r.found < mostKin {
		r.kin[r.found] = k
		r.found++
	}
}

// disinheritFrom looks for the children of a process, thread by thread.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (r *room) disinheritFrom(words []uint64, parent *kinsman) {
	fd, ok := r.open(parent.pid, 0, "", syscall.O_RDONLY|syscall.O_DIRECTORY)
	if !ok {
		return
	}
	const ino, reclen, name = 0, 16, 19 // where members of struct linux_dirent64 are
	for {
		size, e := raw(syscall.SYS_GETDENTS64, fd, uintptr(unsafe.Pointer(&r.tasks)), uintptr(len(r.tasks)), 0)
		if e != 0 || size == 0 || size > roomList {
			break
		}
		for at := uintptr(0); at+name < size; {
			if tid, end := number(r.tasks[:size], at+name); end > at+name {
				children(r, words, parent, tid)
			}
			length := uintptr(r.tasks[at+reclen]) | uintptr(r.tasks[at+reclen+1])<<8
			if length == 0 {
				break
			}
			at += length
		}
	}
	raw(syscall.SYS_CLOSE, fd, 0, 0, 0)
}

// disinheritOf looks for the children that a thread has made.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (r *room) disinheritOf(words []uint64, parent *kinsman, tid uint64) {
	fd, ok := r.open(parent.pid, tid, "children", syscall.O_RDONLY)
	if !ok {
		return // without CONFIG_PROC_CHILDREN
	}
	child := uint64(0)
	for {
		n, e := raw(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&r.children)), roomList, 0)
		if e != 0 || n == 0 || n > roomList {
			break
		}
		for _, c := range r.children[:n] { // a number may be in two pieces; a blank follows each
			if c >= '0' && c <= '9' {
				child = 10*child + uint64(c-'0')
				continue
			}
			if parent.layout == 0 {
				parent.layout = r.layout(parent.pid, tid)
			}
			if parent.layout != 0 && r.layout(child, child) == parent.layout {
				r.clean(words, kinsman{child, parent.mem, parent.layout})
			}
			child = 0
		}
	}
	raw(syscall.SYS_CLOSE, fd, 0, 0, 0)
}

// clean lifts the traps of a process that has a copy of its parent's memory. The same layout shows that: the process has
// executed no other program since the fork.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (r *room) clean(words []uint64, k kinsman) {
	mem, ok := r.open(k.pid, k.pid, "mem", syscall.O_RDWR)
	if !ok {
		return
	}
	for n := range top(words) {
		if p, ok := read(words, n); ok && p.mem == k.mem {
			p.lift(mem, &r.text[0])
		}
	}
	raw(syscall.SYS_CLOSE, mem, 0, 0, 0)
	r.add(k)
}

// Fields of /proc/PID/stat that identify a program by the addresses where its exec has put it (proc(5)): startcode,
// endcode, startstack; start_data and what follows. A fork leaves them unchanged.
const (
	firstField                   = 3 // behind the name
	startCode, startStack        = 26, 28
	startData, envEnd            = 45, 51
	hashBegin, hashPrime  uint64 = 14695981039346656037, 1099511628211 // FNV-1a
)

// layout returns a hash of these fields, or 0 for a process that shows none: it is ending, or may not be traced.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (r *room) layout(pid, tid uint64) uint64 {
	fd, ok := r.open(pid, tid, "stat", syscall.O_RDONLY)
	if !ok {
		return 0
	}
	n, e := raw(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&r.text)), roomText, 0)
	raw(syscall.SYS_CLOSE, fd, 0, 0, 0)
	if e != 0 || n > roomText {
		return 0
	}
	text := r.text[:n]
	begin := len(text) - 1
	for begin >= 0 && text[begin] != ')' {
		begin--
	}
	hash, field, mapped := hashBegin, firstField-1, false
	for _, c := range text[begin+1:] {
		if c == ' ' {
			field++
		}
		if field >= startCode && field <= startStack || field >= startData && field <= envEnd {
			hash = (hash ^ uint64(c)) * hashPrime
			mapped = mapped || c >= '2' && c <= '9' && field == startStack
		}
	}
	if !mapped {
		return 0
	}
	return hash
}

// open opens a file of a thread in /proc, or the directory of the threads of a process.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (r *room) open(pid, tid uint64, name string, flags uintptr) (fd uintptr, ok bool) {
	n := r.put(0, "/proc/")
	n = r.put(r.putNumber(n, pid), "/task")
	if name != "" {
		n = r.put(r.putNumber(r.put(n, "/"), tid), "/")
		n = r.put(n, name)
	}
	r.path[n%roomPath] = 0
	const atFDCWD = -100
	cwd := atFDCWD
	fd, e := raw(syscall.SYS_OPENAT, uintptr(cwd), uintptr(unsafe.Pointer(&r.path)), flags|syscall.O_CLOEXEC, 0)
	return fd, e == 0
}

// put writes a part of a path, and returns where the next part begins.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (r *room) put(at uint, part string) uint {
	for n := range uint(len(part)) {
		r.path[(at+n)%roomPath] = part[n]
	}
	return at + uint(len(part))
}

// putNumber is put for a number.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (r *room) putNumber(at uint, v uint64) uint {
	digits := uint(1)
	for rest := v / 10; rest > 0; rest /= 10 {
		digits++
	}
	for n := at + digits; n > at; n-- {
		r.path[(n-1)%roomPath] = byte('0' + v%10)
		v /= 10
	}
	return at + digits
}

// number returns the number that begins at a place, and where it ends.
//
//go:norace
//go:nosplit
//go:nocheckptr
func number(text []byte, at uintptr) (v uint64, end uintptr) {
	for end = at; end < uintptr(len(text)) && text[end] >= '0' && text[end] <= '9'; end++ {
		v = 10*v + uint64(text[end]-'0')
	}
	return v, end
}
