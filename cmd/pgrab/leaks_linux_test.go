package main

import (
	"bytes"
	"syscall"
)

// kernelLeaks returns how many uprobes the kernel has said it could not take out of a text since it
// was started: a thread that is killed while it closes one cannot (uprobe_unregister_nosync and
// fatal_signal_pending in __get_user_pages).
func kernelLeaks() int {
	log := make([]byte, 1<<20)
	const readAll = 3
	n, err := syscall.Klogctl(readAll, log)
	if err != nil {
		return 0
	}
	return bytes.Count(log[:n], []byte("failed to unregister, leaking uprobe"))
}
