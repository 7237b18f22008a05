package ptools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages are the documents for users, by name.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("doc/*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := make(map[string]string)
	for _, name := range append(names, "README.md", "CONTRIBUTING.md") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(b)
	}
	return texts
}

var link = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)

// TestLinks: what the pages link to in this module exists.
func TestLinks(t *testing.T) {
	for name, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// snippet makes a program of lines that stand alone.
const snippet = `package main

import (
	"context"
	"fmt"

	"ptools/pctl"
)

func main() { fmt.Println(run(context.Background(), 1)) }

func run(ctx context.Context, pid int) error {
%	return err
}
`

// TestSnippets: the Go code of the pages compiles.
func TestSnippets(t *testing.T) {
	block := regexp.MustCompile("(?s)```go\n(.*?)```")
	found := 0
	for name, text := range pages(t) {
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			found++
			code := m[1]
			if !strings.HasPrefix(code, "package ") {
				code = strings.Replace(snippet, "%", code, 1)
			}
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(code), 0o666); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s\n%s", name, err, out, code)
			}
		}
	}
	if found < 2 {
		t.Errorf("%d pieces of Go code", found)
	}
}

// TestCommands: the flags of the commands that the pages show are those that --help names.
func TestCommands(t *testing.T) {
	help := make(map[string]string)
	for _, tool := range []string{"pgrab", "psample", "pcalls"} {
		out, err := exec.Command("go", "run", "./cmd/"+tool, "--help").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		help[tool] = string(out)
	}
	command := regexp.MustCompile("(?m)(?:^|[`/ ])(psample|pgrab|pcalls) (-[^`\n#|]*)")
	found := 0
	for name, text := range pages(t) {
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			flags, _, _ := strings.Cut(m[2]+" ", " -- ")
			for _, word := range strings.Fields(flags) {
				word, _, _ = strings.Cut(strings.TrimRight(word, ".,:;)"), "=")
				if !strings.HasPrefix(word, "-") || word == "-" || word == "--" || strings.Trim(word, "-…") == "" {
					continue
				}
				found++
				if word == "-ss" {
					word = "-s"
				}
				if !regexp.MustCompile(`(^|[ \n,])` + regexp.QuoteMeta(word) + `[ ,\n]`).MatchString(help[m[1]]) {
					t.Errorf("%s: %s has no %s: %q", name, m[1], word, m[0])
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("%d flags", found)
	}
}
