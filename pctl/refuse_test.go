package pctl

import (
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/procfs"
)

// ordinary is a process of our own user that may be grabbed.
func ordinary() *facts {
	return &facts{
		pid: 4242, self: 99, tgid: 4242, state: 'S', threads: 3, class: elf.ELFCLASS64,
		uid: [4]int{1000, 1000, 1000, 1000}, gid: [4]int{100, 100, 100, 100},
		owner: 1000, ourUID: 1000, ourGID: 100,
	}
}

func TestRefusals(t *testing.T) {
	const all = 1<<41 - 1
	eperm := &os.PathError{Op: "ptrace", Err: syscall.EPERM}
	for _, tt := range []struct {
		name   string
		change func(*facts)
		err    error // what attaching said; nil: refused before
		is     error
		want   string // in the message
	}{
		{"platform", func(f *facts) { f.proc, f.tgid = errors.ErrUnsupported, 0 }, nil, errors.ErrUnsupported, "unsupported"},
		{"no proc", func(f *facts) { f.proc, f.tgid = procfs.ErrNotMounted, 0 }, nil, ErrNoProc, "no /proc is mounted"},
		{"others' proc", func(f *facts) { f.proc, f.tgid = procfs.ErrForeign, 0 }, syscall.ESRCH, ErrNoProc, "mount -t proc"},
		{"nobody", func(f *facts) { f.tgid = 0 }, nil, ErrNoProcess, "no such process"},
		{"hidden", func(f *facts) { f.tgid, f.proc = 0, errHidden }, nil, fs.ErrPermission, "hidepid"},
		{"self", func(f *facts) { f.self = 4242 }, nil, ErrSelf, "cannot grab itself"},
		{"own thread", func(f *facts) { f.tgid, f.self = 4200, 4200 }, nil, ErrSelf, "cannot grab itself"},
		{"thread", func(f *facts) { f.tgid = 4200 }, nil, ErrThread, "thread of process 4200 (grab 4200)"},
		{"kernel", func(f *facts) { f.kernel = true }, nil, ErrKernelThread, "kernel thread"},
		{"zombie", func(f *facts) { f.state, f.threads = 'Z', 1 }, nil, ErrZombie, "zombie"},
		{"traced", func(f *facts) { f.tracer, f.tracerName = 77, "gdb" }, nil, ErrTraced, "process is traced by pid 77 (gdb)"},
		{"traced since", func(f *facts) { f.tracer, f.tracerName = 77, "strace" }, eperm, ErrTraced, "by pid 77 (strace)"},
		{"32 bit", func(f *facts) { f.class = elf.ELFCLASS32 }, nil, errors.ErrUnsupported, "32-bit"},
		{"gone", func(f *facts) { f.tgid = 0 }, syscall.ESRCH, ErrNoProcess, "no such process"},
		{"gone meanwhile", func(f *facts) {}, syscall.ESRCH, ErrNoProcess, "no such process"},
		{"yama 3", func(f *facts) { f.yama, f.ourCaps = 3, all }, eperm, fs.ErrPermission, "ptrace_scope=3"},
		{"yama 2", func(f *facts) { f.yama = 2 }, eperm, fs.ErrPermission, "ptrace_scope=2"},
		{"yama 1", func(f *facts) { f.yama = 1 }, eperm, fs.ErrPermission, "sysctl kernel.yama.ptrace_scope=0"},
		{"own child", func(f *facts) { f.yama, f.yamaExempted = 1, true }, eperm, fs.ErrPermission, "security module"},
		{"user", func(f *facts) { f.uid = [4]int{0, 0, 0, 0}; f.owner = 0 }, eperm, fs.ErrPermission, "belongs to uid 0 and this is uid 1000"},
		{"saved user", func(f *facts) { f.uid[2] = 0 }, eperm, fs.ErrPermission, "CAP_SYS_PTRACE"},
		{"group", func(f *facts) { f.gid = [4]int{7, 7, 7, 7} }, eperm, fs.ErrPermission, "gid 7"},
		{"not dumpable", func(f *facts) { f.owner = 0 }, eperm, fs.ErrPermission, "not dumpable"},
		{"capabilities", func(f *facts) { f.caps = 1 << 12 }, eperm, fs.ErrPermission, "capabilities"},
		{"namespace", func(f *facts) { f.foreign, f.ourCaps = true, all }, eperm, fs.ErrPermission, "user namespace"},
		{"module", func(f *facts) { f.ourCaps = all }, eperm, fs.ErrPermission, "security module"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := ordinary()
			tt.change(f)
			err := f.check(false)
			if tt.err != nil {
				err = f.diagnose(tt.err, false)
			}
			if err == nil || !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v; want %v saying %q", err, tt.is, tt.want)
			}
			if strings.ContainsAny(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestReadOnlyGrabsAreAllowed(t *testing.T) {
	f := ordinary()
	f.self, f.tracer = 4242, 77
	if err := f.check(true); err != nil {
		t.Errorf("read-only grab of our own, traced process: %v", err)
	}
}

func TestDiagnoseKeepsOtherErrors(t *testing.T) {
	for _, err := range []error{syscall.ENOMEM, os.ErrClosed, errors.New("odd")} {
		if got := ordinary().diagnose(err, false); got != err {
			t.Errorf("diagnose(%v) = %v", err, got)
		}
	}
}

func TestErrorPrints(t *testing.T) {
	cause := refuse(ErrTraced, "", "process is traced by pid %d (%s)", 77, "gdb")
	for _, tt := range []struct {
		err  *Error
		want string
	}{
		{&Error{Op: "grab", PID: 4242, Err: cause}, "pctl: grab 4242: process is traced by pid 77 (gdb)"},
		{&Error{Op: "registers", PID: 4242, TID: 4250, Err: ErrEnded}, "pctl: registers 4242/4250: process has ended"},
		{&Error{Op: "create", Err: fs.ErrNotExist}, "pctl: create: file does not exist"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
		if !errors.Is(tt.err, tt.err.Err) {
			t.Errorf("%v does not unwrap to its cause", tt.err)
		}
	}
}

// TestFactsOfOurselves reads real facts: those of the test process.
func TestFactsOfOurselves(t *testing.T) {
	f := readFacts(os.Getpid())
	if f.tgid != os.Getpid() || f.class != elf.ELFCLASS64 || f.kernel || f.foreign || f.zombie() {
		t.Errorf("facts of ourselves: %+v", f)
	}
	if err := f.check(false); !errors.Is(err, ErrSelf) {
		t.Errorf("check of ourselves: %v", err)
	}
	if f := readFacts(2); f.kernel {
		if err := f.check(false); !errors.Is(err, ErrKernelThread) {
			t.Errorf("check of kthreadd: %v", err)
		}
	}
	if err := readFacts(1 << 30).check(false); !errors.Is(err, ErrNoProcess) {
		t.Errorf("check of no process: %v", err)
	}
}
