package job

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"ptools/internal/procfs"
)

// runtimeDescriptors is how many descriptors the Go runtime opens for itself, when a timer or a pipe is first used.
// If it cannot have them, it ends the program with a trace of all goroutines.
const runtimeDescriptors = 2

// TakeDescriptors has the runtime open its descriptors now, or returns an error if there are too few. It must be
// called first in main.
func TakeDescriptors() error {
	if err := free(runtimeDescriptors); err != nil {
		return err
	}
	time.AfterFunc(time.Hour, func() {}).Stop()
	return nil
}

// SayLost says on standard error, in the name of a tool, that what is written to stdout is kept nowhere because standard output was closed.
// The runtime opens /dev/null in its place, before any code of the program runs, so that no other file gets its number. Writing
// reports no error then.
func SayLost(tool string, stdout, stderr io.Writer) {
	if f, ok := stdout.(*os.File); ok && f == os.Stdout && procfs.StandsForClosed(syscall.Stdout) {
		fmt.Fprintf(stderr, "%s: standard output was closed, or is /dev/null opened for reading and writing: what is written there is lost\n", tool)
	}
}

// Incomplete returns an error if the result may lack something, because files of targets could not be opened for want of
// descriptors.
func Incomplete() error {
	if procfs.Lacks() == 0 {
		return nil
	}
	return fmt.Errorf("the result may be incomplete: %w (raise ulimit -n)", syscall.EMFILE)
}

// NoteLack notes an error that leaves the result incomplete, if it is one of those.
func NoteLack(err error) { procfs.NoteLack(err) }

// free returns an error if n descriptors cannot be had.
func free(n int) error {
	for range n {
		fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err == syscall.EMFILE || err == syscall.ENFILE {
			return fmt.Errorf("%w, before any was opened (raise ulimit -n)", err)
		}
		if err == nil {
			defer syscall.Close(fd) // when all have been opened
		}
	}
	return nil
}
