package ptest

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// Environment variables that the Makefile sets.
const (
	tortureEnv = "PTOOLS_TORTURE" // storms at full length
	seedEnv    = "PTOOLS_SEED"    // the seed that a failed test has printed
	slowEnv    = "PTOOLS_SLOW"    // how many times slower than usual this machine is, as under emulation
)

// Torture reports whether storms run at full length: make torture.
func Torture() bool { return os.Getenv(tortureEnv) != "" }

// Slow returns how many times slower than usual this machine is. Bounds of time are multiplied by it.
func Slow() time.Duration {
	n, err := strconv.Atoi(os.Getenv(slowEnv))
	if err != nil || n < 1 {
		return 1
	}
	return time.Duration(n)
}

// Rounds returns how many rounds a storm makes: short with -short, torture under make torture, and usual otherwise.
func Rounds(short, usual, torture int) int {
	switch {
	case Torture():
		return torture
	case testing.Short():
		return short
	}
	return usual
}

// Rand returns a source of random numbers and prints its seed, which the environment variable
// PTOOLS_SEED overrides.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv(seedEnv), 0, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("%s=%d", seedEnv, seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Some returns n of the elements, at random, for tests of many cases that each take seconds. Under make torture n is as large as
// there are cases, so that all are tried.
func Some[T any](t testing.TB, all []T, n int) []T {
	t.Helper()
	if n >= len(all) {
		return all
	}
	random, some := Rand(t), slices.Clone(all)
	random.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	return some[:n]
}
