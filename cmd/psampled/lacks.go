package main

import (
	"context"
	"time"
)

// lacksEvery is how often it is looked whether files could not be read.
const lacksEvery = time.Second

// tellLacks says which files could not be read for names, a line each, until ctx is done.
func (d *daemon) tellLacks(ctx context.Context) {
	every := time.NewTicker(lacksEvery)
	defer every.Stop()
	for {
		for _, err := range d.sampler.Lacks() {
			d.say("%v", err)
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}
