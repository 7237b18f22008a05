package main

import (
	"bufio"
	"fmt"
	"time"

	"ptools/internal/calls"
	"ptools/internal/clean"
)

// jsonSlow is a slow call in JSON.
type jsonSlow struct {
	Slow   string    `json:"slow"` // the function
	Raw    string    `json:"raw"`
	Object string    `json:"object"`
	TID    int       `json:"tid"`
	Length int64     `json:"duration_ns"`
	End    time.Time `json:"end"`
}

// printSlow prints the slow calls that have ended since the last time.
func (s *session) printSlow() error {
	w := bufio.NewWriter(s.stdout)
	var err error
	s.watch.Slow(func(c calls.Slow) {
		if s.json {
			err = writeJSON(w, jsonSlow{c.Name, c.Raw, c.Object, c.TID, int64(c.Length), c.End})
			return
		}
		_, err = fmt.Fprintf(w, "%s  tid %-7d %8s  %s\n", c.End.Format("15:04:05.000000"), c.TID, duration(c.Length), clean.Text(c.Name))
	})
	if flushed := w.Flush(); err == nil {
		err = flushed
	}
	return err
}
