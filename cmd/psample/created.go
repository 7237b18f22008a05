package main

import (
	"fmt"
	"time"

	"ptools/internal/creations"
)

// follow shows once a second how many threads have been created. stop ends that, and erases
// the line.
func (m *meter) follow(c *creations.Counter) (stop func()) {
	if m == nil {
		return func() {}
	}
	begun, done, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() { // ends at stop, which waits for it
		defer close(ended)
		second := time.NewTicker(time.Second)
		defer second.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-second.C:
				fmt.Fprintf(m.w, "\r%v: %d threads created\x1b[K", now.Sub(begun).Truncate(time.Second), c.Created())
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		m.clear()
	}
}
