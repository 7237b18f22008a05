package job

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ptools/internal/elfsym"
)

// fetcher answers as elfutils' client does, out of a folder.
const fetcher = `#!/bin/sh
if [ "$1" = debuginfo ] && mkdir -p "$DEBUGINFOD_CACHE_PATH/$2" && cp "$DEBUGINFOD_URLS/$2" "$DEBUGINFOD_CACHE_PATH/$2/debuginfo" 2>/dev/null; then
	echo "$DEBUGINFOD_CACHE_PATH/$2/debuginfo"
else
	echo "Server query failed: No such file or directory" >&2
	exit 1
fi
`

// TestFetchDebug: a stripped program's debug file is fetched before anything is done with it, and then the file that dwz has
// moved parts of it into. Without DEBUGINFOD_URLS nobody is asked, and the cache is not read.
func TestFetchDebug(t *testing.T) {
	dir := t.TempDir()
	run := func(line string) {
		t.Helper()
		cmd := exec.Command("sh", "-ec", line)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v %s", line, err, out)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "debuginfod-find"), []byte(fetcher), 0o777); err != nil {
		t.Fatal(err)
	}
	source := `static inline __attribute__((always_inline)) int within(int x) { return x * 3; } int main(int n, char **v) { return within(n); }`
	run(`echo '` + source + `' >p.c; gcc -g -O1 -Wl,--build-id -o prog p.c; mkdir store cache`)
	rounds := 1
	if _, err := exec.LookPath("dwz"); err == nil {
		rounds = 2
		run(`cp prog other; dwz -m common prog other`)
	}
	run(`objcopy --only-keep-debug prog prog.debug; strip -s prog
		id() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
		mv prog.debug store/$(id prog); if [ -e common ]; then mv common store/$(id common); fi`)
	prog := filepath.Join(dir, "prog")
	named := func() (elfsym.Names, error) {
		files := elfsym.NewCache(1)
		defer files.Close()
		file, err := os.Open(prog)
		if err != nil {
			t.Fatal(err)
		}
		f, err := files.Open(file, prog, ownFiles{})
		if err != nil {
			t.Fatal(err)
		}
		return f.Names(), f.Missing()
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("DEBUGINFOD_CACHE_PATH", filepath.Join(dir, "cache"))
	t.Setenv("DEBUGINFOD_URLS", "")
	var said bytes.Buffer
	if FetchDebug(context.Background(), "tool", &said, []string{prog}, nil); said.Len() != 0 {
		t.Errorf("without servers: %s", &said)
	}
	t.Setenv("DEBUGINFOD_URLS", filepath.Join(dir, "store"))
	FetchDebug(context.Background(), "tool", &said, []string{prog}, nil)
	if n := strings.Count(said.String(), "asking the servers"); n != rounds {
		t.Errorf("asked %d times of %d: %s", n, rounds, &said)
	}
	if names, err := named(); names != elfsym.NamesAndLines || err != nil {
		t.Errorf("after fetching: %v, %v", names, err)
	}
	said.Reset()
	FetchDebug(context.Background(), "tool", &said, []string{prog}, nil) // libc's may still be missing
	if text := said.String(); strings.Contains(text, "2 debug files") || strings.Contains(text, "1 found") {
		t.Errorf("asked again: %s", text)
	}
	t.Setenv("DEBUGINFOD_URLS", " ")
	if names, _ := named(); names == elfsym.NamesAndLines {
		t.Error("the cache was read without DEBUGINFOD_URLS")
	}
}
