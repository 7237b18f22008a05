//go:build race

package hostile_test

// slower is how many times as long a reading may take with the race detector: decompression takes thirty times as long.
const slower = 10
