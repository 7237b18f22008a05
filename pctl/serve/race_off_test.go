//go:build !race

package serve_test

const raced = false
