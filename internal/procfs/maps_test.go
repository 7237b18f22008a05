package procfs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMaps(t *testing.T) {
	const text = `00400000-00452000 r-xp 00000000 08:02 173521                             /usr/bin/dbus-daemon
7f0000000000-7f0000001000 rw-p 00000000 00:00 0 
7f0000001000-7f0000002000 r--p 00003000 fd:101 18446744073709551615      /tmp/a b  c
7f0000002000-7f0000003000 ---p 00000000 00:1d 77                         /tmp/new\012line
7f0000003000-7f0000004000 rw-s 00000000 00:01 1026                       /memfd:jit x (deleted)
7f0000004000-7f0000005000 rwxp 00000000 08:02 9                          /tmp/x (deleted) (deleted)
7f0000005000-7f0000006000 rw-p 00000000 00:00 0                          [anon:name (deleted)]
7ffff7fc9000-7ffff7fcd000 r--p 00000000 00:00 0                          [vvar]
7ffff7fcd000-7ffff7fcf000 r-xp 00000000 00:00 0                          [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
`
	want := []Map{
		{0x400000, 0x452000, 0, Read | Exec, 8, 2, 173521, "/usr/bin/dbus-daemon", false},
		{0x7f0000000000, 0x7f0000001000, 0, Read | Write, 0, 0, 0, "", false},
		{0x7f0000001000, 0x7f0000002000, 0x3000, Read, 0xfd, 0x101, 1<<64 - 1, "/tmp/a b  c", false},
		{0x7f0000002000, 0x7f0000003000, 0, 0, 0, 0x1d, 77, "/tmp/new\nline", false},
		{0x7f0000003000, 0x7f0000004000, 0, Read | Write | Shared, 0, 1, 1026, "/memfd:jit x", true},
		{0x7f0000004000, 0x7f0000005000, 0, Read | Write | Exec, 8, 2, 9, "/tmp/x (deleted)", true},
		{0x7f0000005000, 0x7f0000006000, 0, Read | Write, 0, 0, 0, "[anon:name (deleted)]", false},
		{0x7ffff7fc9000, 0x7ffff7fcd000, 0, Read, 0, 0, 0, "[vvar]", false},
		{0x7ffff7fcd000, 0x7ffff7fcf000, 0, Read | Exec, 0, 0, 0, "[vdso]", false},
		{0xffffffffff600000, 0xffffffffff601000, 0, Exec, 0, 0, 0, "[vsyscall]", false},
	}
	got, err := ParseMaps([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParseMaps (-want +got):\n%s", diff)
	}
}

func TestParseMapsMalformed(t *testing.T) {
	for _, text := range []string{
		"\n",
		"00400000 r-xp 00000000 08:02 1 /x\n",
		"00400000-00452000 r-x 00000000 08:02 1 /x\n",
		"00400000-00452000 rwwp 00000000 08:02 1 /x\n",
		"00452000-00400000 r-xp 00000000 08:02 1 /x\n",
		"00400000-00452000 r-xp 00000000 0802 1 /x\n",
		"00400000-00452000 r-xp 00000000 08:02\n",
		"00400000-10000000000000000 r-xp 00000000 08:02 1\n",
	} {
		if maps, err := ParseMaps([]byte(text)); err == nil {
			t.Errorf("ParseMaps(%q) = %v, want an error", text, maps)
		}
	}
}

func TestPermString(t *testing.T) {
	for _, text := range []string{"---p", "r-xp", "rw-s", "rwxs"} {
		p, ok := parsePerm([]byte(text))
		if !ok || p.String() != text {
			t.Errorf("perm %q prints %q, %v", text, p, ok)
		}
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add([]byte("00400000-00452000 r-xp 00000000 08:02 173521    /usr/bin/x (deleted)\n"))
	f.Add([]byte("0-1 ---s 0 0:0 0 \\012"))
	f.Fuzz(func(t *testing.T, b []byte) {
		maps, err := ParseMaps(b)
		if err != nil {
			return
		}
		for _, m := range maps {
			if m.Start > m.End || m.Deleted && m.Inode == 0 {
				t.Errorf("impossible map %+v of %q", m, b)
			}
		}
	})
}
