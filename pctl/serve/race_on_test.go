//go:build race

package serve_test

// raced: the race detector is there. To read a target's files takes fifteen times as long with it.
const raced = true
