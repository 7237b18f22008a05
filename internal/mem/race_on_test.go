//go:build race

package mem

// raceEnabled: the race detector makes sync.Pool forget at random.
const raceEnabled = true
