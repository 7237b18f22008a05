package guard

import "os"

// Memory is a target's memory. File returns another descriptor of its /proc/PID/mem, which stays
// bound to the same address space.
type Memory interface {
	File() (*os.File, error)
}
