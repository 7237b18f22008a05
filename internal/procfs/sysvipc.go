package procfs

import (
	"os"
	"strconv"
	"strings"
)

// An IPC is a message queue or a set of semaphores of System V (sysvipc(7)).
type IPC struct {
	ID  int
	Key uint32 // 0: private
	// LastSender and LastReceiver are the processes that have last put a message into a queue and taken one; 0: none.
	LastSender, LastReceiver int
}

// FindIPC looks for a queue (kind "msg") or a set of semaphores ("sem") of a process. It is found only if the process has our
// IPC namespace.
func FindIPC(pid int, kind string, id int) (IPC, bool) {
	theirs, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/ipc")
	ours, err2 := os.Readlink("/proc/self/ns/ipc")
	if err != nil || err2 != nil || theirs != ours {
		return IPC{}, false
	}
	text, _ := os.ReadFile("/proc/sysvipc/" + kind) // without it there are none
	return parseIPC(string(text), id)
}

// parseIPC looks for an id in a table whose first line has the names of its columns.
func parseIPC(text string, id int) (found IPC, ok bool) {
	var names []string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if names == nil {
			names = words
			continue
		}
		row := make(map[string]int64, len(words))
		for i, w := range words[:min(len(words), len(names))] {
			row[names[i]], _ = strconv.ParseInt(w, 10, 64)
		}
		own, isMessages := row["msqid"]
		if !isMessages {
			own = row["semid"]
		}
		if own == int64(id) {
			return IPC{ID: id, Key: uint32(row["key"]), LastSender: int(row["lspid"]), LastReceiver: int(row["lrpid"])}, true
		}
	}
	return IPC{}, false
}
