package perfevent

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

func openTasks(t testing.TB, pid int) *Tasks {
	t.Helper()
	needTaskRegs(t)
	tasks, err := OpenTasks(pid)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tasks.Close() })
	return tasks
}

// needTaskRegs skips a test where the kernel has no helper that finds the registers of a thread (Linux 5.15).
func needTaskRegs(t testing.TB) {
	t.Helper()
	if types, err := readBTF(); err == nil && types.find(btfFunc, "bpf_task_pt_regs") == 0 {
		t.Skip("this kernel has no bpf_task_pt_regs")
	}
}

// TestTasks: the records of sleeping threads agree with /proc.
func TestTasks(t *testing.T) {
	const threads = 600
	g := ptest.Start(t, ptest.BuildC(t, "idle.c"), "-t", fmt.Sprint(threads))
	g.Ready()
	tasks := openTasks(t, g.PID)
	g.WaitFor("all threads sleep", func() bool {
		records, err := tasks.Read()
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			if records[i].State != 'S' {
				return false
			}
		}
		return len(records) == threads+1
	})
	records, _ := tasks.Read()
	seen := map[int]bool{}
	for i := range records {
		r := &records[i]
		seen[r.TID] = true
		dir := fmt.Sprintf("/proc/%d/task/%d/", g.PID, r.TID)
		if want, got := file(t, dir+"schedstat"), fmt.Sprintf("%d %d %d\n", r.Run, r.Wait, r.Slices); got != want {
			t.Errorf("thread %d: schedstat %q, want %q", r.TID, got, want)
		}
		if want := file(t, dir+"comm"); r.Name()+"\n" != want {
			t.Errorf("thread %d: name %q, want %q", r.TID, r.Name(), want)
		}
		fields := strings.Fields(file(t, dir+"syscall"))
		nr, _, _ := r.Regs.SyscallReturn()
		got := fmt.Sprintf("%d %#x %#x", nr, r.Regs.SP(), r.Regs.PC())
		if want := strings.Join([]string{fields[0], fields[7], fields[8]}, " "); got != want {
			t.Errorf("thread %d: %q, want %q", r.TID, got, want)
		}
	}
	if len(seen) != threads+1 {
		t.Errorf("%d threads, want %d", len(seen), threads+1)
	}
}

func file(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTasksOfNobody: a process that has ended has no threads.
func TestTasksOfNobody(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "idle.c"), "-t", "3")
	g.Ready()
	tasks := openTasks(t, g.PID)
	g.Finish()
	if records, err := tasks.Read(); err != nil || len(records) != 0 {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// TestBTF: bytes that are not the kernel's types are an error.
func TestBTF(t *testing.T) {
	b, err := os.ReadFile("/sys/kernel/btf/vmlinux")
	if err != nil {
		t.Skip(err)
	}
	for _, bad := range [][]byte{nil, b[:20], b[:len(b)/2], []byte(strings.Repeat("x", 4096))} {
		if _, err := parseBTF(bad); err == nil {
			t.Errorf("%d bytes: understood", len(bad))
		}
	}
	types, err := parseBTF(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"no_such", "se.no_such", "pid.x"} {
		if _, err := types.member("task_struct", name); err == nil {
			t.Errorf("task_struct has %s", name)
		}
	}
}

// BenchmarkTasks reads a thousand threads.
func BenchmarkTasks(b *testing.B) {
	g := ptest.Start(b, ptest.BuildC(b, "idle.c"), "-t", "1000")
	g.Ready()
	tasks := openTasks(b, g.PID)
	for b.Loop() {
		if _, err := tasks.Read(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpenTasks opens them.
func BenchmarkOpenTasks(b *testing.B) {
	for b.Loop() {
		openTasks(b, os.Getpid())
	}
}
