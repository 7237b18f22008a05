package ptest

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
)

var goTools sync.Map // name: path

// GoTool returns the path of a program that "go tool" runs. go builds it first if necessary. Running it by its path
// costs a fraction of "go tool", and a signal reaches it.
func GoTool(t testing.TB, name string) string {
	t.Helper()
	Need(t, "go")
	if path, ok := goTools.Load(name); ok {
		return path.(string)
	}
	out, err := exec.Command("go", "tool", "-n", name).Output()
	if err != nil {
		t.Fatalf("go tool -n %s: %v", name, err)
	}
	path := strings.TrimSpace(string(out))
	goTools.Store(name, path)
	return path
}
