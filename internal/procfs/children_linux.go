package procfs

import (
	"bytes"
	"strconv"
)

// Children returns the PIDs of the processes that a thread has made and that were not waited for
// yet. It needs a kernel with CONFIG_PROC_CHILDREN. On a kernel without, the error is ESRCH too.
func Children(pid, tid int) ([]int, error) {
	p := taskPath(pid, tid, "children")
	b, err := p.read(nil)
	if err != nil {
		return nil, err
	}
	var pids []int
	for field := range bytes.FieldsSeq(b) {
		n, err := strconv.Atoi(string(field))
		if err != nil {
			return nil, err
		}
		pids = append(pids, n)
	}
	return pids, nil
}
