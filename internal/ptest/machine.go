package ptest

import (
	"fmt"
	"os"
	"strings"
)

// Processor names the processor that the test runs on. It also has the numbers that identify its kind, because a
// virtual machine may hide the name. Results that differ between vendors are of no use without it.
func Processor() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	return processor(string(b))
}

// processor reads the first processor's lines of a cpuinfo.
func processor(cpuinfo string) string {
	first, _, _ := strings.Cut(cpuinfo, "\n\n")
	fields := map[string]string{}
	for line := range strings.Lines(first) {
		k, v, _ := strings.Cut(line, ":")
		fields[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	or := func(key string) string {
		if v := fields[key]; v != "" {
			return v
		}
		return "unknown"
	}
	return fmt.Sprintf("%s (%s family %s model %s stepping %s)",
		or("model name"), or("vendor_id"), or("cpu family"), or("model"), or("stepping"))
}

// kernel returns the release of the running kernel.
func kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}
