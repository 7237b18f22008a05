package procfs

import (
	"errors"
	"syscall"
)

// Lacking reports whether an error means a lack of descriptors or memory, in this program or on the machine. Such an
// error says nothing about the file that was to be opened.
func Lacking(err error) bool {
	for _, errno := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}
