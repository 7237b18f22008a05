package procfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWalk: without openat2 names lead to the same files, and do not lead out of the root either.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"root/a/b", "root/usr/lib", "outside"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"root/a/b/file", "root/usr/lib/libx.so.1", "outside/file", "file", "root/file"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, text := range map[string]string{
		"root/lib": "usr/lib", "root/usr/lib/libx.so": "libx.so.1", "root/up": "../../outside/file", "root/abs": "/a/b", "root/a/top": "/",
		"root/out": dir + "/outside", "root/loop": "loop", "root/ping": "pong", "root/pong": "a/../ping", "root/dots": "a/b/../../file", "root/gone": "nothing",
	} {
		if err := os.Symlink(text, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := unix.Open(filepath.Join(dir, "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	found := 0
	for _, name := range []string{
		"/a/b/file", "a/b/file", "/lib/libx.so", "/lib/libx.so.1", "/abs/file", "/a/top/a/top/lib/libx.so", "/dots", "/../../file", "/a/../../file",
		"/up", "/out/file", "/loop", "/ping", "/gone", "/a/b/file/x", "/nothing", "//a//./b/file", "/a/b", strings.Repeat("/a/..", 300) + "/file",
	} {
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
		want, wantErr := unix.Openat2(root, name, &how)
		got, gotErr := walk(root, name)
		if (wantErr == nil) != (gotErr == nil) || gotErr != nil && !errors.Is(gotErr, wantErr) {
			t.Errorf("%s: %v, openat2 says %v", name, gotErr, wantErr)
		}
		if wantErr != nil || gotErr != nil {
			continue
		}
		found++
		var a, b unix.Stat_t
		if err := errors.Join(unix.Fstat(want, &a), unix.Fstat(got, &b)); err != nil || a.Ino != b.Ino || a.Dev != b.Dev {
			t.Errorf("%s: another file than openat2's, %v", name, err)
		}
		unix.Close(want)
		unix.Close(got)
	}
	if found != 12 {
		t.Errorf("%d of the names lead somewhere, not 12", found)
	}
	if _, err := walk(root, strings.Repeat("/a/b/../..", 10_000)+strings.Repeat("/x", 300)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a long name: %v", err)
	}
}
