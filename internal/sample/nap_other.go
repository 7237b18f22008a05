//go:build !linux

package sample

import "time"

// napping returns what waits for the next round.
func napping() func(time.Duration) { return time.Sleep }
