package procfs

import (
	"errors"
	"syscall"
)

// Lacking reports that an error tells of a lack of descriptors or memory, ours or the machine's, and nothing of what
// was to be opened.
func Lacking(err error) bool {
	for _, errno := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}
