package profile

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// program is what a process runs.
type program struct {
	pid  int
	comm string // name of the first thread, as ps(1) shows it; empty if the thread was not met
	file string // base name of the file that the process has executed last
}

// programsOf returns the programs of all processes, in the order in which they were added.
func programsOf(p *Profile) []program {
	comms := make(map[int]string)
	for _, t := range p.threads {
		if t.tid == t.pid && t.process == 0 {
			comms[t.pid] = t.name
		}
	}
	var all []program
	for _, s := range p.spaces {
		file := Clean(path.Base(s.main))
		if s.main == "" {
			file = ""
		}
		i := slices.IndexFunc(all, func(pr program) bool { return pr.pid == s.pid })
		if i < 0 {
			i = len(all)
			all = append(all, program{pid: s.pid, comm: comms[s.pid]})
		}
		all[i].file = file
	}
	return all
}

// name returns the name that users know: the name of the file, unless the process has another name. The kernel cuts the
// latter to 15 bytes, and a symbolic link may lead to a file with a longer name: "python3" is python3.11.
func (pr program) name() string {
	if strings.HasPrefix(pr.file, pr.comm) {
		return pr.file
	}
	return pr.comm
}

// String returns the name, and the file as well if its name is different.
func (pr program) String() string {
	if name := pr.name(); name != pr.file && pr.file != "" {
		return fmt.Sprintf("%s (%s, pid %d)", name, pr.file, pr.pid)
	}
	if pr.pid == 0 && pr.file != "" {
		return pr.file // of a profile that was read, and does not say
	}
	return strings.TrimSpace(fmt.Sprintf("%s (pid %d)", pr.name(), pr.pid))
}
