package procfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestTask reads this test's own thread, whose name has the characters that are
// escaped.
func TestTask(t *testing.T) {
	runtime.LockOSThread() // not unlocked: the thread ends with its name
	pid, tid := os.Getpid(), unix.Gettid()
	name := "a) \\(\nb"
	cname, _ := unix.BytePtrFromString(name)
	if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(cname)), 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	task, err := OpenTask(pid, tid)
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	if comm, err := task.Comm(); err != nil || comm != name {
		t.Errorf("Comm() = %q, %v; want %q", comm, err, name)
	}
	if st, err := task.Stat(); err != nil || st.Comm != name || st.PID != tid || st.State != 'R' || st.StartStack == 0 {
		t.Errorf("Stat() = %+v, %v", st, err)
	}
	if st, err := ReadTaskStatus(pid, tid); err != nil || st.Tgid != pid {
		t.Errorf("ReadTaskStatus() = %+v, %v", st, err)
	}
	if comm, err := ReadComm(pid, tid); err != nil || comm != name {
		t.Errorf("ReadComm() = %q, %v", comm, err)
	}
	if c, err := task.Syscall(); err != nil || !c.Running && c.Nr != unix.SYS_PREAD64 {
		t.Errorf("Syscall() = %+v, %v", c, err)
	}
	before, err := task.SchedStat()
	if err != nil {
		t.Fatal(err)
	}
	for after := before; after.Run == before.Run; {
		if after, err = task.SchedStat(); err != nil {
			t.Fatal(err)
		}
	}
	tids, err := Tasks(pid, nil)
	if err != nil || !slices.Contains(tids, tid) || !slices.Contains(tids, pid) {
		t.Errorf("Tasks() = %v, %v; want %d and %d among them", tids, err, pid, tid)
	}
	if err := task.Close(); err != nil || task.Close() != nil {
		t.Errorf("Close() = %v", err)
	}
	if _, err := task.Stat(); !errors.Is(err, syscall.EBADF) {
		t.Errorf("Stat() after Close: %v, want EBADF", err)
	}
}

// awaitEnds returns when no thread of this process is ending: the kernel's sums may count such a thread twice.
func awaitEnds() {
	for ending := true; ending; {
		ending = false
		tids, _ := Tasks(os.Getpid(), nil)
		for _, tid := range tids {
			st, err := ReadTaskStat(os.Getpid(), tid)
			ending = ending || err == nil && st.Flags&FlagExiting != 0
		}
	}
}

// TestTaskStats: the kernel's sums over a process count every time that one of its
// threads is put on a processor, and every time that one leaves a processor by itself.
// What threads that have ended were put on a processor stays counted. Before some Linux after 5.10 the rest of such a
// thread's counts is lost (fill_tgid_exit in kernel/taskstats.c), so the thread lives when the second is read.
func TestTaskStats(t *testing.T) {
	stats, err := OpenTaskStats(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer stats.Close()
	sum := func() TaskSum {
		s, err := stats.Sum()
		if errors.Is(err, unix.EPERM) {
			t.Skip("needs CAP_NET_ADMIN")
		}
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	awaitEnds()
	before := sum()
	const naps = 50
	napped, read := make(chan error), make(chan bool)
	go func() { // ends, and its thread with it
		runtime.LockOSThread()
		for range naps {
			nap := unix.Timespec{Nsec: 1_000_000} // a shorter one may be over before the thread has left its processor
			if err := unix.Nanosleep(&nap, nil); err != nil && err != unix.EINTR {
				napped <- err
				return
			}
		}
		napped <- nil
		<-read
	}()
	err = <-napped
	alive := sum()
	close(read)
	if err != nil {
		t.Fatal(err)
	}
	awaitEnds()
	if got := sum(); got.Slices < before.Slices+naps || alive.Yields < before.Yields+naps {
		t.Errorf("%+v in all, then one thread slept %d times, now %+v, and %+v when it has ended", before, naps, alive, got)
	}
	if _, err := gone(t).Sum(); !errors.Is(err, unix.ESRCH) {
		t.Errorf("process that has ended: %v", err)
	}
}

// gone returns the TaskStats of a process that has ended.
func gone(t *testing.T) *TaskStats {
	cmd := sleeper(t)
	stats, err := OpenTaskStats(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stats.Close() })
	cmd.Process.Kill()
	cmd.Wait()
	return stats
}

// TestTaskWithoutDescriptors lowers the limit until nothing may be kept, and
// then until one file at a time can be open.
func TestTaskWithoutDescriptors(t *testing.T) {
	task, err := OpenTask(os.Getpid(), os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	next, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0) // the lowest free number
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(next)
	none := unix.Rlimit{Cur: uint64(next), Max: old.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, errSched := task.SchedStat() // has to give up its stat to open this
	_, errSyscall := task.Syscall()
	_, errStat := task.Stat()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if errSched != nil || errSyscall != nil || errStat != nil {
		t.Errorf("without a free descriptor: %v, %v, %v", errSched, errSyscall, errStat)
	}
}

// TestTasksLeaveRoom: if there are few descriptors, Tasks keep none that the rest of the program needs. That holds
// for any number of Tasks, whatever the descriptors are used for.
func TestTasksLeaveRoom(t *testing.T) {
	for _, free := range []int{16, 64, 256} {
		var old unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0) // the lowest free number
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(next)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(next + free), Max: old.Max}); err != nil {
			t.Fatal(err)
		}
		taken := 0 // how many of the numbers above tests before this one have opened
		for fd := next; fd < next+free; fd++ {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
				taken++
			}
		}
		var errs []error
		for range 300 {
			task, err := OpenTask(os.Getpid(), os.Getpid())
			if err != nil {
				errs = append(errs, err)
				continue
			}
			defer task.Close()
			_, errSched := task.SchedStat()
			_, errSyscall := task.Syscall()
			errs = append(errs, errSched, errSyscall)
		}
		var others []int
		for range free {
			if fd, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
				others = append(others, fd)
			}
		}
		for _, fd := range others {
			unix.Close(fd)
		}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(errs...); err != nil {
			t.Errorf("%d free: %v", free, err)
		}
		if len(others) < min(free/4+room, free-2)-taken {
			t.Errorf("%d free: %d left to others", free, len(others))
		}
	}
}

// sleeper starts a process that lives until it is killed at the test's end.
func sleeper(t testing.TB) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

func TestGoneProcess(t *testing.T) {
	cmd := sleeper(t)
	pid := cmd.Process.Pid
	task, err := OpenTask(pid, pid)
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	if _, err := task.SchedStat(); err != nil {
		t.Fatal(err)
	}
	fd, err := OpenPIDFD(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer fd.Close()
	if !fd.Alive() {
		t.Error("a living process is not Alive")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := fd.Wait(ctx); err != context.Canceled {
		t.Errorf("Wait with a done context: %v", err)
	}
	waited := make(chan error, 2)
	for range cap(waited) {
		go func() { waited <- fd.Wait(context.Background()) }() // ends at the kill below
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range cap(waited) {
		if err := <-waited; err != nil {
			t.Errorf("Wait: %v", err)
		}
	}
	if fd.Alive() {
		t.Error("a dead process is Alive before it is reaped")
	}
	if maps, err := Maps(pid); err != nil || len(maps) != 0 {
		t.Errorf("Maps of a zombie: %v, %v", maps, err)
	}
	if _, err := ReadAuxv(pid); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("ReadAuxv of a zombie: %v, want ESRCH", err)
	}
	cmd.Wait()
	_, errTask := task.SchedStat()
	_, errStat := task.Stat()
	_, errOpen := OpenTask(pid, pid)
	_, errRead := ReadStat(pid)
	_, errTasks := Tasks(pid, nil)
	_, errMaps := Maps(pid)
	_, errExe := Exe(pid)
	_, errRoot := OpenRoot(pid)
	_, errFD := OpenPIDFD(pid)
	for i, err := range []error{errTask, errStat, errOpen, errRead, errTasks, errMaps, errExe, errRoot, errFD} {
		if !errors.Is(err, syscall.ESRCH) {
			t.Errorf("call %d on a process that is gone: %v, want ESRCH", i, err)
		}
	}
	if fd.Close(); fd.Alive() || fd.Wait(context.Background()) != os.ErrClosed {
		t.Error("a closed PIDFD still works")
	}
}

func TestSelf(t *testing.T) {
	pid := os.Getpid()
	exe, _ := os.Executable()
	if got, err := Exe(pid); err != nil || got != exe {
		t.Errorf("Exe() = %q, %v; want %q", got, err, exe)
	}
	if a, err := ReadAuxv(pid); err != nil || a[AuxEntry] == 0 {
		t.Errorf("ReadAuxv() = %v, %v", a, err)
	}
	if err := ReadMaps(1<<30, nil); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("ReadMaps of no process: %v", err)
	}
	// A map that is larger than the buffer is read whole. The buffer of another one is used again, after garbage collections too.
	texts.put(make([]byte, 0, 1))
	var first *byte
	for range 2 {
		err := ReadMaps(pid, func(text []byte) error {
			if bytes.Count(text, []byte("\n")) < 10 || text[len(text)-1] != '\n' || first != nil && first != &text[0] {
				t.Errorf("ReadMaps: %d bytes", len(text))
			}
			first = &text[0]
			return io.EOF
		})
		if err != io.EOF {
			t.Error(err)
		}
		runtime.GC()
		runtime.GC()
	}
	for range 10 {
		texts.put(make([]byte, mostBuffers/4))
	}
	if texts.bytes > mostBuffers {
		t.Errorf("%d bytes of buffers are kept", texts.bytes)
	}
}

func TestSharesMemory(t *testing.T) {
	pid := os.Getpid()
	same, err := SharesMemory(pid, pid)
	if errors.Is(err, fs.ErrPermission) {
		t.Skip(err)
	}
	if err != nil || !same {
		t.Errorf("with itself: %v, %v", same, err)
	}
	if same, err := SharesMemory(pid, sleeper(t).Process.Pid); err != nil || same {
		t.Errorf("with a child: %v, %v", same, err)
	}
}

// The figure that matters is 0 allocs/op.
func BenchmarkTask(b *testing.B) {
	pid := sleeper(b).Process.Pid
	task, err := OpenTask(pid, pid)
	if err != nil {
		b.Fatal(err)
	}
	defer task.Close()
	b.Run("schedstat", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			task.SchedStat()
		}
	})
	b.Run("syscall", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			task.Syscall()
		}
	})
	b.Run("stat", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			task.Stat()
		}
	})
	b.Run("tasks", func(b *testing.B) {
		b.ReportAllocs()
		var tids [64]int
		for b.Loop() {
			Tasks(pid, tids[:0])
		}
	})
	b.Run("maps", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Maps(pid)
		}
	})
}

// TestTaskAllocs holds the sampler's reads to no allocation at all.
func TestTaskAllocs(t *testing.T) {
	pid := sleeper(t).Process.Pid
	task, err := OpenTask(pid, pid)
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	var tids [64]int
	n := testing.AllocsPerRun(100, func() {
		_, err1 := task.SchedStat()
		_, err2 := task.Syscall()
		_, err3 := task.Stat()
		_, err4 := Tasks(pid, tids[:0])
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 && !raceEnabled {
		t.Errorf("%v allocations a round, want none", n)
	}
}
