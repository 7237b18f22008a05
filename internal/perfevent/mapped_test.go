package perfevent

import (
	"testing"

	"ptools/internal/procfs"
)

// TestMappedMap: a record gives the mapping that /proc/PID/maps has.
func TestMappedMap(t *testing.T) {
	const text = procfs.Read | procfs.Exec
	for _, tt := range []struct {
		record Mapped
		want   procfs.Map
	}{
		{Mapped{Addr: 0x1000, Len: 0x2000, Off: 0x3000, Major: 8, Minor: 1, Inode: 7, Path: "/lib/a"},
			procfs.Map{Start: 0x1000, End: 0x3000, Off: 0x3000, Perm: text, Major: 8, Minor: 1, Inode: 7, Path: "/lib/a"}},
		{Mapped{Inode: 7, Path: "/lib/a (deleted)", Unprobed: true}, procfs.Map{Perm: text | procfs.Shared, Inode: 7, Path: "/lib/a", Deleted: true}},
		{Mapped{Path: "//anon (deleted)"}, procfs.Map{Perm: text}},
		{Mapped{Path: "[vdso]"}, procfs.Map{Perm: text, Path: "[vdso]"}},
	} {
		if got := tt.record.Map(); got != tt.want {
			t.Errorf("%+v is %+v, want %+v", tt.record, got, tt.want)
		}
		if m := tt.record.Map(); m.Unprobed() != tt.record.Unprobed {
			t.Errorf("%+v gets probes: %v", tt.record, !m.Unprobed())
		}
	}
}
