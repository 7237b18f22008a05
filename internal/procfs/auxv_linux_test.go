package procfs

import (
	"encoding/binary"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

// TestStackAuxv: with CAP_SYS_PTRACE alone, and another user's access to files, the vector is found on the
// stack of a program with any number of arguments and variables.
func TestStackAuxv(t *testing.T) {
	ptest.NeedUsers(t)
	long := make([]string, 5000)
	for i := range long {
		long[i] = "V" + strings.Repeat("x", 20)
	}
	for name, env := range map[string][]string{"no variables": {}, "some": {"A=1", "B="}, "many": long} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sleep", "1000")
			cmd.Env = env
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ptest.Keep(t, cmd)
			pid := cmd.Process.Pid
			// Start returns while the execve that makes the stack is still under way.
			for deadline := time.Now().Add(30 * time.Second); ; runtime.Gosched() {
				if st, err := ReadStat(pid); err == nil && st.State == 'S' && st.Comm == "sleep" {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("sleep does not sleep")
				}
			}
			want, err := ReadAuxv(pid)
			if err != nil {
				t.Fatal(err)
			}
			var got Auxv
			var readable bool
			done := make(chan error)
			go func() {
				runtime.LockOSThread() // for good: the thread ends
				_, err := unix.SetfsuidRetUid(65534)
				if err == nil {
					p := processPath(pid, "auxv")
					_, denied := p.read(nil)
					readable = denied == nil
					got, err = ReadAuxv(pid)
				}
				done <- err
			}()
			if err := <-done; err != nil || readable || !cmp.Equal(got, want) {
				t.Errorf("%v, %v, want %v; the file is readable: %v", got, err, want, readable)
			}
		})
	}
}

func FuzzInitialAuxv(f *testing.F) {
	f.Add(binary.LittleEndian.AppendUint64(nil, 1<<63))
	f.Add(make([]byte, 64))
	f.Fuzz(func(t *testing.T, b []byte) {
		if a, err := initialAuxv(b); err == nil && len(a) > len(b)/16 {
			t.Errorf("%d entries of %d bytes", len(a), len(b))
		}
	})
}
