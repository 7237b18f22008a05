package ptest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A Hanging is a file system that stops answering (hungfs.c), with one program in it.
type Hanging struct {
	Program string // its path
	server  *Target
}

// NewHanging mounts a file system with a copy of a program, and unmounts it when the test ends. That ends all waits
// for the file system. NewHanging skips the test where no file system may be mounted.
func NewHanging(t testing.TB, exe string) *Hanging {
	t.Helper()
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	f.Close()
	NeedNamespaces(t, "-m") // a process that may make mount namespaces may mount
	dir := filepath.Join(t.TempDir(), "hanging")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	h := &Hanging{Program: filepath.Join(dir, filepath.Base(exe)), server: Start(t, BuildC(t, "hungfs.c"), dir, exe, filepath.Base(exe))}
	h.server.Ready()
	t.Cleanup(func() {
		if _, state := h.server.Finish(); !state.Success() {
			t.Errorf("the file system ends with %v", state)
		}
	})
	return h
}

// Hang leaves every read of the program's file unanswered from now on.
func (h *Hanging) Hang() { h.order("hang") }

// HangOpen leaves every open(2) of the program's file unanswered from now on. Not even SIGKILL ends such an open.
func (h *Hanging) HangOpen() { h.order("hang open") }

// HangCreate leaves every open(2) that makes a file unanswered from now on. Not even SIGKILL ends such an open.
func (h *Hanging) HangCreate() { h.order("hang create") }

// HangStatfs leaves every statfs(2) of the file system unanswered from now on.
func (h *Hanging) HangStatfs() { h.order("hang statfs") }

// Asked waits until the file system has got one more request that it does not answer.
func (h *Hanging) Asked() { h.server.Until("asked") }

// End unmounts the file system: all waits for it fail.
func (h *Hanging) End() { h.server.Stdin.Close() }

func (h *Hanging) order(line string) {
	h.server.t.Helper()
	fmt.Fprintln(h.server.Stdin, line)
	h.server.Until("hangs")
}
