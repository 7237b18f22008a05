package guard

import "os"

// Memory is a target's memory. File returns another descriptor of its /proc/PID/mem, which stays
// bound to the same address space; PID returns the number of the target.
type Memory interface {
	File() (*os.File, error)
	PID() int
}
