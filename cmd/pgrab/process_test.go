package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// guardOf returns the guard process of a pgrab, or 0.
func guardOf(pid int) int {
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range children {
		b, _ := os.ReadFile(file) // empty when the thread has ended
		for _, child := range strings.Fields(string(b)) {
			if n, _ := strconv.Atoi(child); isGuard(n) {
				return n
			}
		}
	}
	return 0
}

// isGuard reports whether a process is a living guard.
func isGuard(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(b), " (ptools-guard) ") && !strings.Contains(string(b), ") Z ")
}

// dispositionsOf returns which of the signals up to 31 a process ignores and catches. Its
// C library catches further ones when it makes a thread.
func dispositionsOf(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return ""
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "SigIgn:") || strings.HasPrefix(line, "SigCgt:") {
			key, set, _ := strings.Cut(strings.TrimSpace(line), ":\t")
			bits, _ := strconv.ParseUint(set, 16, 64)
			lines = append(lines, fmt.Sprintf("%s %08x", key, bits&(1<<31-1)))
		}
	}
	return strings.Join(lines, " ")
}
