package mem

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

// TestLeaderLeaves: the memory of a process whose first thread has ended since it was opened is
// read and written through one of the others.
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
			pid := c.mem.PID()
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
