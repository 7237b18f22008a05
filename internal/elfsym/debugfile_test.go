package elfsym

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rootSource opens absolute paths below a directory, like the root of a
// target, and records the paths.
type rootSource struct {
	dir   string
	asked []string
}

func (r *rootSource) OpenDebug(path string) (*os.File, error) {
	r.asked = append(r.asked, path)
	return os.Open(filepath.Join(r.dir, path))
}

// split builds a program and strips it. It returns the stripped program, and
// the file with the stripped parts.
func split(t *testing.T, flags ...string) (bin, debug string) {
	t.Helper()
	full, dir := inlineProgram(t, append([]string{"-g"}, flags...)...), t.TempDir()
	bin, debug = filepath.Join(dir, "prog"), filepath.Join(dir, "prog.debug")
	output(t, "objcopy", "--only-keep-debug", full, debug)
	output(t, "objcopy", "--strip-all", full, bin)
	return bin, debug
}

// place copies a file into the root.
func (r *rootSource) place(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to = filepath.Join(r.dir, to)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// checkComplete checks that the stripped program gives the same answers as the
// full one.
func checkComplete(t *testing.T, f *File) {
	t.Helper()
	s := f.ByName("ns::outer")
	if len(s) != 1 || s[0].Name != "ns::outer(long)" {
		t.Fatalf("ns::outer is %+v", s)
	}
	if got, ok := f.Symbol(s[0].Addr + 1); !ok || got != s[0] {
		t.Errorf("its address is %+v", got)
	}
	if l := f.Lines(s[0].Addr, nil); len(l) == 0 || filepath.Base(l[len(l)-1].File) != "inline.cc" {
		t.Errorf("its line is %+v", l)
	}
	if _, b, ok := f.Section(".debug_info"); !ok || len(b) == 0 {
		t.Error("no .debug_info")
	}
	if _, b, ok := f.Section(".eh_frame"); !ok || len(b) == 0 {
		t.Error("no .eh_frame: the one of the debug file has no bytes")
	}
}

func TestDebugByBuildID(t *testing.T) {
	bin, debug := split(t, "-Wl,--build-id")
	src := &rootSource{dir: t.TempDir()}
	id := open(t, bin, nil).BuildID()
	if len(id) != 40 || !strings.Contains(output(t, "readelf", "-n", bin), id) {
		t.Fatalf("build id %q is not readelf's", id)
	}
	src.place(t, debug, "/usr/lib/debug/.build-id/"+id[:2]+"/"+id[2:]+".debug")
	checkComplete(t, open(t, bin, src))

	// The file of another program in its place is refused.
	other, _ := split(t, "-Wl,--build-id=0x0123456789")
	f := open(t, other, src)
	src.place(t, debug, "/usr/lib/debug/.build-id/01/23456789.debug")
	if s := f.ByName("ns::outer"); s != nil {
		t.Errorf("believed a debug file with another build id: %+v", s)
	}
}

func TestDebugLink(t *testing.T) {
	for _, where := range []string{"%s/prog.debug", "%s/.debug/prog.debug", "/usr/lib/debug%s/prog.debug"} {
		t.Run(where, func(t *testing.T) {
			bin, debug := split(t, "-Wl,--build-id=none")
			output(t, "objcopy", "--add-gnu-debuglink="+debug, bin)
			src := &rootSource{dir: t.TempDir()}
			place := strings.ReplaceAll(where, "%s", filepath.Dir(bin))
			src.place(t, debug, place)
			checkComplete(t, open(t, bin, src))

			// One byte more and the checksum is wrong.
			file, err := os.OpenFile(filepath.Join(src.dir, place), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = file.Write([]byte{0})
			if err := errors.Join(err, file.Close()); err != nil {
				t.Fatal(err)
			}
			if s := open(t, bin, src).ByName("ns::outer"); s != nil {
				t.Errorf("believed a debug file with a wrong checksum: %+v", s)
			}
		})
	}
}

// TestDebugLinkEscape: a link that tries to leave the directories is refused.
func TestDebugLinkEscape(t *testing.T) {
	bin, debug := split(t, "-Wl,--build-id=none")
	output(t, "objcopy", "--add-gnu-debuglink="+debug, bin)
	b, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	bad := strings.Replace(string(b), "prog.debug\x00", "../pro.deb\x00", 1)
	if err := os.WriteFile(bin, []byte(bad), 0o755); err != nil {
		t.Fatal(err)
	}
	src := &rootSource{dir: t.TempDir()}
	open(t, bin, src).ByName("ns::outer")
	for _, p := range src.asked {
		if strings.Contains(p, "pro.deb") {
			t.Errorf("looked for %s", p)
		}
	}
}

// TestMiniDebug packs the local functions the way Fedora does.
func TestMiniDebug(t *testing.T) {
	bin, debug := split(t, "-Wl,--build-id")
	mini := debug + ".mini"
	output(t, "objcopy", "-S", "--remove-section=.comment", "--keep-symbol=_ZN2ns5outerEl", "--keep-symbol=plain", debug, mini)
	output(t, "xz", "-9", mini)
	output(t, "objcopy", "--add-section", ".gnu_debugdata="+mini+".xz", bin)
	f := open(t, bin, nil)
	s := f.ByName("ns::outer")
	if len(s) != 1 {
		t.Fatalf("ns::outer is %+v", s)
	}
	if got, ok := f.Symbol(s[0].Addr + 1); !ok || got.Name != "ns::outer(long)" {
		t.Errorf("its address is %+v", got)
	}
}

// TestCompressed compares compressed debug sections with plain ones.
func TestCompressed(t *testing.T) {
	plain := inlineProgram(t, "-g")
	_, want, ok := open(t, plain, nil).Section(".debug_info")
	if !ok {
		t.Fatal("no .debug_info")
	}
	for _, kind := range []string{"zlib-gabi", "zlib-gnu", "zstd"} {
		t.Run(kind, func(t *testing.T) {
			packed := filepath.Join(t.TempDir(), "packed")
			output(t, "objcopy", "--compress-debug-sections="+kind, plain, packed)
			f := open(t, packed, nil)
			if s := f.section(".debug_info"); s == nil || !s.compressed() {
				t.Fatal("objcopy has not compressed it")
			}
			if _, got, ok := f.Section(".debug_info"); !ok || string(got) != string(want) {
				t.Errorf("%d bytes %v, want %d", len(got), ok, len(want))
			}
		})
	}
}

// TestHeadless: a program without section headers still has what it needs at
// run time.
func TestHeadless(t *testing.T) {
	bin := inlineProgram(t, "-rdynamic")
	whole := open(t, bin, nil)
	f := open(t, withoutSections(t, bin), nil)
	if f.BuildID() != whole.BuildID() || f.BuildID() == "" {
		t.Errorf("build id %q", f.BuildID())
	}
	for _, name := range []string{"plain", "main", "_ZN2ns5outerEl", "ns::outer"} {
		want, got := whole.ByName(name), f.ByName(name)
		if len(got) != 1 || len(want) != 1 || got[0] != want[0] {
			t.Errorf("%s is %+v, not %+v", name, got, want)
			continue
		}
		if s, ok := f.Symbol(want[0].Addr + 2); !ok || s.Addr != want[0].Addr {
			t.Errorf("%s+2 is %+v", name, s)
		}
	}
	for _, name := range []string{".eh_frame_hdr", ".eh_frame"} {
		addr, want, _ := whole.Section(name)
		a, got, ok := f.Section(name)
		if !ok || a != addr || !strings.HasPrefix(string(got), string(want)) {
			t.Errorf("%s: %d bytes at %#x, want %d at %#x", name, len(got), a, len(want), addr)
		}
	}
}

// noSource has no debug files.
type noSource struct{}

func (noSource) OpenDebug(string) (*os.File, error) { return nil, fs.ErrNotExist }

func TestNoDebugFile(t *testing.T) {
	bin, _ := split(t)
	f := open(t, bin, noSource{})
	if s := f.ByName("ns::outer"); s != nil {
		t.Errorf("found %+v in a stripped file", s)
	}
	if l := f.Lines(f.Entry(), nil); len(l) != 0 {
		t.Errorf("lines %+v in a stripped file", l)
	}
}
