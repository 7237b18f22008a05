//go:build !race

package hostile_test

const slower = 1
