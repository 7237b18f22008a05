//go:build !linux

package sample

import "time"

// napping returns the function that waits for the next round.
func napping() func(time.Duration) { return time.Sleep }
