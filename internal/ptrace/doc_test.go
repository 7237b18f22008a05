package ptrace

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentNamesTests: each test that doc/ptrace.md names exists.
func TestDocumentNamesTests(t *testing.T) {
	const root = "../.."
	doc, err := os.ReadFile(filepath.Join(root, "doc/ptrace.md"))
	if err != nil {
		t.Fatal(err)
	}
	room := "internal/ptrace"
	for _, quoted := range regexp.MustCompile("`[^`]*`").FindAllString(strings.ReplaceAll(string(doc), "\n  ", " "), -1) {
		words := strings.Fields(strings.Trim(quoted, "`"))
		in := room
		if len(words) == 2 && strings.HasSuffix(words[0], ":") {
			in, words = strings.TrimSuffix(words[0], ":"), words[1:]
		}
		if len(words) == 1 && strings.HasPrefix(words[0], "Test") && !hasTest(t, filepath.Join(root, in), words[0]) {
			t.Errorf("%s: there is no %s", in, words[0])
		}
	}
}

// hasTest reports whether a package has a test.
func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Errorf("%s: no tests: %v", dir, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
