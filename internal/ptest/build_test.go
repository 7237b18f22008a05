package ptest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// TestWriteProgram executes programs as soon as they are written, while others are started.
func TestWriteProgram(t *testing.T) {
	program, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range Rounds(20, 40, 400) {
				name := filepath.Join(dir, string(rune('a'+i)))
				os.Remove(name)
				WriteProgram(t, name, program)
				if err := exec.Command(name).Run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
