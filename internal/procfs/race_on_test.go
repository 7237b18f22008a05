//go:build race

package procfs

// raceEnabled: what the race detector is told about moves to the heap.
const raceEnabled = true
