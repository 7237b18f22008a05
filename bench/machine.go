package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"ptools/internal/ptest"
)

// machine describes the machine that was used.
type machine struct {
	CPU        string   `json:"cpu"`
	CPUs       int      `json:"cpus"`
	Kernel     string   `json:"kernel"`
	Memory     string   `json:"memory"`
	Go         string   `json:"go"`
	Tools      []string `json:"tools"`
	LoadBefore string   `json:"load_before"` // the averages of 1, 5 and 15 minutes
	LoadAfter  string   `json:"load_after"`
}

// peers are the tools to compare with, and the flags that print their versions.
var peers = [][2]string{{"gdb", "--version"}, {"eu-stack", "--version"}, {"strace", "--version"},
	{"perf", "--version"}, {"bpftrace", "--version"}, {"ltrace", "--version"}, {"uftrace", "--version"}, {"gcc", "--version"}}

func describe() machine {
	m := machine{
		CPU: ptest.Processor(), CPUs: runtime.NumCPU(), Memory: field("/proc/meminfo", "MemTotal"),
		Go: runtime.Version(), LoadBefore: loadAverage(),
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(b))
	}
	for _, p := range peers {
		if why := missing(p[0]); why != "" {
			m.Tools = append(m.Tools, why)
			continue
		}
		out, _ := exec.Command(p[0], p[1]).Output() // a tool without a version is shown by its name
		line, _, _ := strings.Cut(string(out), "\n")
		if !strings.HasPrefix(line, p[0]) {
			line = p[0] + ": " + line
		}
		m.Tools = append(m.Tools, line)
	}
	return m
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %d CPUs, %s, Linux %s, %s\n%s\nload average before: %s; after: %s",
		m.CPU, m.CPUs, m.Memory, m.Kernel, m.Go, strings.Join(m.Tools, "; "), m.LoadBefore, m.LoadAfter)
}

// field returns the value of the first line of a /proc file that begins with name.
func field(file, name string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	f := strings.Fields(string(b))
	return strings.Join(f[:min(3, len(f))], " ")
}
