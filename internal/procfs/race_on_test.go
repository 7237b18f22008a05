//go:build race

package procfs

// raceEnabled: variables that the race detector is told about move to the heap.
const raceEnabled = true
