package handle

import (
	"debug/elf"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptools/internal/elfsym"
	"ptools/internal/procfs"
)

// TestGrouping groups maps as they occur and prints the objects.
func TestGrouping(t *testing.T) {
	for _, c := range []struct {
		name, maps string
		want       []string
	}{
		{"library, data files and heap", `
1000-2000 r--p 00000000 08:01 7 /lib/a.so
2000-3000 r-xp 00001000 08:01 7 /lib/a.so
3000-4000 rw-p 00002000 08:01 7 /lib/a.so
4000-5000 rw-p 00000000 00:00 0 [heap]
6000-7000 r--p 00000000 08:01 8 /usr/share/locale
`, []string{"1000-4000 /lib/a.so 3"}},
		{"one file at two places", `
1000-2000 r-xp 00000000 08:01 7 /lib/a.so
2000-3000 rw-p 00001000 08:01 7 /lib/a.so
3000-4000 r-xp 00000000 08:01 7 /lib/a.so
4000-5000 rw-p 00001000 08:01 7 /lib/a.so
`, []string{"1000-3000 /lib/a.so 2", "3000-5000 /lib/a.so 2"}},
		{"bss between, another file between", `
1000-2000 r-xp 00000000 08:01 7 /a
2000-3000 rw-p 00000000 00:00 0
3000-4000 rw-p 00003000 08:01 7 /a
4000-5000 r-xp 00000000 08:01 9 /b
5000-6000 rw-p 00004000 08:01 7 /a
`, []string{"1000-4000 /a 2", "4000-5000 /b 1"}},
		{"text in huge pages", `
1000-2000 r-xp 00000000 08:01 7 /a
2000-3000 r-xp 00000000 00:00 0
3000-4000 r-xp 00002000 08:01 7 /a
4000-5000 rw-p 00003000 08:01 7 /a
`, []string{"1000-5000 /a 3"}},
		{"text moved, with holes", `
1000-2000 r--p 00000000 08:01 7 /a
4000-6000 r-xp 00000000 00:00 0
8000-9000 r--p 00008000 08:01 7 /a
`, []string{"1000-9000 /a 2"}},
		{"text in a memfd", `
1000-2000 r--p 00000000 08:01 7 /a
2000-3000 r-xp 00000000 00:01 9 /memfd:text (deleted)
3000-4000 rw-p 00002000 08:01 7 /a
`, []string{"1000-4000 /a 2"}},
		{"text in a file that has a name", `
1000-2000 r--p 00000000 08:01 7 /a
2000-3000 r-xp 00010000 00:25 9 /dev/hugepages/text
3000-4000 rw-p 00002000 08:01 7 /a
`, []string{"1000-4000 /a 2"}},
		{"a library in a hole", `
1000-2000 r-xp 00000000 08:01 7 /a
2000-3000 r-xp 00000000 08:01 9 /b
3000-4000 rw-p 00001000 08:01 9 /b
4000-5000 rw-p 00001000 08:01 7 /a
`, []string{"1000-2000 /a 1", "2000-4000 /b 2"}},
		{"the first segment in a memfd", `
1000-2000 r-xp 00000000 00:01 9 /memfd:text (deleted)
2000-3000 r--p 00001000 08:01 7 /a
3000-4000 rw-p 00002000 08:01 7 /a
`, []string{"1000-4000 /a 2"}},
		{"a JIT's memfd in front of a data file", `
1000-2000 r-xp 00000000 00:01 9 /memfd:jit (deleted)
2000-3000 r--p 00000000 08:01 7 /data
`, []string{"1000-2000 /memfd:jit 1"}},
		{"the first segment moved", `
1000-2000 r-xp 00000000 00:00 0
3000-4000 rw-p 00001000 08:01 7 /a
`, []string{"1000-4000 /a 1"}},
		{"a JIT in front of a file", `
1000-2000 r-xp 00000000 00:00 0
3000-4000 r--p 00000000 08:01 7 /a
`, nil},
		{"a JIT behind a library", `
1000-2000 r-xp 00000000 08:01 7 /a
2000-3000 rwxp 00000000 00:00 0
3000-4000 rwxp 00000000 00:00 0 [anon:jit]
`, []string{"1000-2000 /a 1"}},
		{"the kernel's", `
1000-2000 r--p 00000000 00:00 0 [vvar]
2000-3000 r-xp 00000000 00:00 0 [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]
`, []string{"2000-3000 [vdso] 1", "ffffffffff600000-ffffffffff601000 [vsyscall] 1"}},
	} {
		maps, err := procfs.ParseMaps([]byte(strings.TrimPrefix(c.maps, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		s := build(maps, nil)
		for _, o := range s.objects {
			got = append(got, fmt.Sprintf("%x-%x %s %d", o.start, o.end, o.path, len(o.maps)))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		for _, m := range maps {
			r := s.find(m.Start)
			if m.Perm&procfs.Exec != 0 && (r == nil || r.Start != m.Start) || s.find(m.End-1) != r {
				t.Errorf("%s: find(%#x) = %v", c.name, m.Start, r)
			}
		}
	}
}

func TestBias(t *testing.T) {
	const r, x, w = elf.PF_R, elf.PF_R | elf.PF_X, elf.PF_R | elf.PF_W
	separate := []elfsym.Segment{{Off: 0, Vaddr: 0, Filesz: 0x600, Flags: r}, {Off: 0x1000, Vaddr: 0x1000, Filesz: 0x500, Flags: x},
		{Off: 0x2df0, Vaddr: 0x3df0, Filesz: 0x300, Memsz: 0x400, Flags: w}}
	packed := []elfsym.Segment{{Off: 0, Vaddr: 0x400000, Filesz: 0x1234, Flags: r}, {Off: 0x1240, Vaddr: 0x402240, Filesz: 0x2000, Flags: x},
		{Off: 0x3240, Vaddr: 0x405240, Filesz: 0x100, Flags: w}}
	prelinked := []elfsym.Segment{{Off: 0, Vaddr: 0x3f000000, Filesz: 0x5000, Flags: x}}
	for _, c := range []struct {
		name       string
		segments   []elfsym.Segment
		start, off uint64
		perm       procfs.Perm
		want       uint64
		ok         bool
	}{
		{"text", separate, 0x7f0000001000, 0x1000, procfs.Read | procfs.Exec, 0x7f0000000000, true},
		{"data, not page-aligned", separate, 0x7f0000003000, 0x2000, procfs.Read | procfs.Write, 0x7f0000000000, true},
		{"second half of split text", packed, 0x403000, 0x2000, procfs.Read | procfs.Exec, 0, true},
		{"shared page as text", packed, 0x402000, 0x1000, procfs.Read | procfs.Exec, 0, true},
		{"shared page as read-only data", packed, 0x401000, 0x1000, procfs.Read, 0, true},
		{"prelinked, elsewhere", prelinked, 0x7f0000000000, 0, procfs.Read | procfs.Exec, 0x7f0000000000 - 0x3f000000, true},
		{"prelinked, below", prelinked, 0x10000000, 0, procfs.Exec, 1<<64 - 0x2f000000, true},
		{"behind the last segment", separate, 0x1000, 0x9000, procfs.Exec, 0, false},
		{"no segments", nil, 0x1000, 0, procfs.Exec, 0, false},
	} {
		got, ok := bias(c.segments, &procfs.Map{Start: c.start, End: c.start + 0x1000, Off: c.off, Perm: c.perm})
		if got != c.want || ok != c.ok {
			t.Errorf("%s: bias %#x, %v; want %#x, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

// FuzzBuild groups whatever parses: every executable mapping must be found,
// and an object must hold its mappings.
func FuzzBuild(f *testing.F) {
	f.Add([]byte("1000-2000 r-xp 00000000 08:01 7 /a\n2000-3000 r-xp 00000000 00:00 0\n3000-4000 r-xp 00002000 08:01 7 /a\n"))
	f.Add([]byte("2000-3000 r-xp 00000000 00:00 0 [vdso]\n1000-2000 r-xp 00001000 08:01 7 /a\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		maps, err := procfs.ParseMaps(text)
		if err != nil {
			return
		}
		s := build(maps, nil)
		sorted := true
		for i, m := range maps {
			sorted = sorted && m.Start < m.End && (i == 0 || maps[i-1].End <= m.Start)
		}
		for _, m := range maps {
			r := s.find(m.Start)
			if sorted && m.Perm&procfs.Exec != 0 && (r == nil || r.Start != m.Start) {
				t.Errorf("find(%#x) = %v in %q", m.Start, r, text)
			}
		}
		for _, o := range s.objects {
			for _, m := range o.maps {
				if sorted && (m.Start < o.start || m.End > o.end) {
					t.Errorf("%x-%x is not in %x-%x of %q", m.Start, m.End, o.start, o.end, text)
				}
			}
		}
	})
}
