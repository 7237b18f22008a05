package sample_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"ptools/internal/ptest"
	"ptools/pctl/sample"
)

// TestCreationsOverlap: several clients may count the creations of one process at the same time.
func TestCreationsOverlap(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "threadstorm.c"), "-t", "2")
	g.Ready()
	s, err := sample.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			created, err := s.Creations(bg, g.PID, time.Duration(i+8)*100*time.Millisecond)
			if err != nil {
				t.Error(err)
				return
			}
			var b bytes.Buffer
			if err := created.WriteCounts(&b); err != nil || !bytes.Contains(b.Bytes(), []byte("pthread_create")) {
				t.Errorf("%v: %s", err, &b)
			}
		})
	}
	wg.Wait()
	if _, err := s.Creations(bg, g.PID, 50*time.Millisecond); err != nil {
		t.Errorf("after the others: %v", err)
	}
}
