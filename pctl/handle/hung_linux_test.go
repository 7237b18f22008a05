package handle

import (
	"os"
	"testing"
	"time"

	"ptools/internal/elfsym"
	"ptools/internal/ptest"
)

// TestHungStatfs: a file system that does not answer statfs(2) delays neither the files of others, nor the end of the cache.
func TestHungStatfs(t *testing.T) {
	h := ptest.NewHanging(t, ptest.BuildC(t, "mix.c"))
	c := elfsym.NewCache(10)
	hung, err := os.Open(h.Program)
	if err != nil {
		t.Fatal(err)
	}
	h.HangStatfs()
	opened := make(chan error, 1)
	go func() {
		f, err := c.Open(hung, h.Program, nil)
		if err == nil && !f.Hung() {
			t.Error("the file system has answered")
		}
		opened <- err
	}()
	h.Asked()
	others := make(chan error, 1)
	go func() {
		self, err := os.Open("/proc/self/exe")
		if err == nil {
			_, err = c.Open(self, "/proc/self/exe", nil)
		}
		others <- err
	}()
	for what, done := range map[string]chan error{"another file": others, "the file": opened} {
		select {
		case err := <-done:
			if err != nil && what == "another file" {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s waits for the file system", what)
		}
	}
	c.Close()
	h.End()
}
