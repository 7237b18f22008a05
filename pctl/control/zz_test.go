package control

import (
	"os"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

func TestZZ(t *testing.T) {
	for _, k := range strings.Fields(os.Getenv("KINDS")) {
		t.Run(k, func(t *testing.T) {
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "calls.c"), "-t", "3", "-f", "all")
			g.Ready()
			var fs []string
			for _, x := range strings.Split(k, "+") {
				fs = append(fs, "f_"+x)
			}
			held(t, g, fs)
		})
	}
}
