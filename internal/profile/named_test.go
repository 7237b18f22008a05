package profile

import "testing"

// TestIsMemory: no debug symbols help for memory that only looks like a file.
func TestIsMemory(t *testing.T) {
	for path, want := range map[string]bool{
		"/memfd:vmem (deleted)": true, "/SYSV00000000 (deleted)": true, "/dev/zero (deleted)": true,
		"": false, "/usr/bin/memfd:x": false, "/tmp/libjit.so (deleted)": false,
	} {
		if isMemory(path) != want {
			t.Errorf("%q: %t", path, !want)
		}
	}
}
