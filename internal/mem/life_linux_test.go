package mem

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
)

// TestExec: after an exec the descriptor stays bound to the old image, which is
// gone, and process_vm_readv reads the new one.
func TestExec(t *testing.T) {
	c := start(t)
	if c.mem.Stale() {
		t.Fatal("stale from the beginning")
	}
	c.say("exec")
	at := c.number() // printed by the new image
	if !c.mem.Stale() {
		t.Error("not stale after an exec")
	}
	b := make([]byte, 8)
	if n, err := c.mem.ReadAt(b, int64(at)); n != len(b) || err != nil {
		t.Errorf("reading the new image = %d, %v", n, err)
	}
	check(t, b, 0)
	if n, err := c.mem.WriteAt(b, int64(at)); n != 0 || err != syscall.ESRCH {
		t.Errorf("WriteAt through a stale Memory = %d, %v; want ESRCH", n, err)
	}
	m, err := Open(c.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.Stale() {
		t.Error("a Memory of the new image is stale")
	}
}

func TestGone(t *testing.T) {
	c := start(t)
	c.cmd.Process.Kill()
	c.cmd.Wait()
	if n, err := c.mem.ReadAt(make([]byte, 8), int64(c.at)); n != 0 || err != syscall.ESRCH {
		t.Errorf("ReadAt of a dead process = %d, %v; want ESRCH", n, err)
	}
	if !c.mem.Stale() {
		t.Error("the memory of a dead process is not stale")
	}
	if _, err := Open(c.cmd.Process.Pid); err != syscall.ESRCH {
		t.Errorf("Open of a dead process: %v, want ESRCH", err)
	}
	if err := c.mem.Close(); err != nil || c.mem.Close() != nil {
		t.Errorf("Close: %v", err)
	}
	_, err1 := c.mem.ReadAt(make([]byte, 1), 0)
	_, err2 := c.mem.WriteAt(make([]byte, 1), 0)
	dst := [][]byte{make([]byte, 1)}
	_, err3 := c.mem.ReadVec(dst, []uint64{0})
	if err1 != os.ErrClosed || err2 != os.ErrClosed || err3 != os.ErrClosed || len(dst[0]) != 0 {
		t.Errorf("after Close: %v, %v, %v", err1, err2, err3)
	}
}

// TestCloseWhileReading looks for a read through a descriptor number that already
// refers to another process's memory.
func TestCloseWhileReading(t *testing.T) {
	c := start(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			b := make([]byte, 2*page)
			for {
				n, err := c.mem.ReadAt(b, int64(c.at))
				if err == os.ErrClosed {
					return
				}
				if n != len(b) || err != nil {
					t.Errorf("ReadAt = %d, %v", n, err)
					return
				}
			}
		})
	}
	b := make([]byte, page)
	for range 100 {
		c.mem.ReadAt(b, int64(c.at))
	}
	c.mem.Close()
	wg.Wait()
}

// TestLeaderLeaves: if the first thread of a process ends after its memory was opened, the memory is read and
// written through another thread.
func TestLeaderLeaves(t *testing.T) {
	reads := map[string]func(m *Memory, b []byte, addr uint64) (int, error){
		"ReadAt":      func(m *Memory, b []byte, addr uint64) (int, error) { return m.ReadAt(b, int64(addr)) },
		"User.ReadAt": func(m *Memory, b []byte, addr uint64) (int, error) { return m.User().ReadAt(b, int64(addr)) },
		"ReadVec":     func(m *Memory, b []byte, addr uint64) (int, error) { return m.ReadVec([][]byte{b}, []uint64{addr}) },
		"User.WriteAt": func(m *Memory, b []byte, addr uint64) (int, error) {
			for i := range b {
				b[i] = pattern(i)
			}
			return m.User().WriteAt(b, int64(addr))
		},
	}
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			c := start(t)
			pid := c.mem.pid
			c.say("leave")
			for stat := []byte(nil); !bytes.Contains(stat, []byte(") Z ")); {
				var err error
				if stat, err = os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil {
					t.Fatal(err)
				}
			}
			b := make([]byte, 100)
			if n, err := read(c.mem, b, c.at); n != len(b) || err != nil {
				t.Fatalf("%d bytes, %v", n, err)
			}
			check(t, b, 0)
			if c.mem.via.Load() == int64(pid) {
				t.Error("the next one will go by the first thread again")
			}
		})
	}
}
