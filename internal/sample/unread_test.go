package sample

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/internal/source"
)

// TestUnreadThreads: if no thread can be read, that is an error. If some cannot, they are counted.
func TestUnreadThreads(t *testing.T) {
	for readable, want := range map[int]int64{0: 3, 2: 1} {
		w := newWorld(3)
		src := w.source()
		open, n := src.Thread, 0
		read := make(map[int]bool)
		src.Thread = func(tid int) (source.TaskFiles, error) {
			if n < readable {
				n++
				read[tid] = true
			}
			if !read[tid] {
				return nil, syscall.EMFILE
			}
			return open(tid)
		}
		s := New([]*source.Process{src}, &Options{Period: 10 * time.Millisecond, For: 100 * time.Millisecond, Clock: &fakeClock{}})
		err := s.Run(context.Background())
		if none := readable == 0; errors.Is(err, syscall.EMFILE) != none || none && !strings.Contains(err.Error(), "none of its 3 threads") {
			t.Errorf("%d of 3 can be read: %v", readable, err)
		}
		if got := s.Cost().Unread; got != want || !strings.Contains(s.Cost().String(), " could not be read") {
			t.Errorf("%d of 3 can be read: %d could not be: %v", readable, got, s.Cost())
		}
	}
}
