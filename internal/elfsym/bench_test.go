package elfsym

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// big returns the large files that this machine has.
func big(b *testing.B) map[string]string {
	found := make(map[string]string)
	for name, pattern := range map[string]string{
		"libc":        "/lib/x86_64-linux-gnu/libc.so.6",
		"gdb":         "/usr/bin/gdb",
		"node":        "/usr/bin/node",
		"libLLVM":     "/usr/lib/x86_64-linux-gnu/libLLVM-1[0-9].so.1",
		"chromium":    "/usr/lib/chromium/chromium",
		"rustc":       os.Getenv("HOME") + "/.rustup/toolchains/stable-*/lib/librustc_driver-*.so",
		"go":          "/usr/local/go/bin/go",
		"go-provider": "/opt/tf-plugins/registry.terraform.io/hashicorp/aws/*/linux_amd64/terraform-provider-aws*",
	} {
		if paths, _ := filepath.Glob(pattern); len(paths) > 0 {
			found[name] = paths[0]
		}
	}
	if len(found) == 0 {
		b.Skip("none of the large files is installed")
	}
	return found
}

// BenchmarkFirstSymbol opens a file and looks up one address, with nothing
// cached. That is the cost of a file before its first sample has a name. It
// also reports how much memory is kept.
func BenchmarkFirstSymbol(b *testing.B) {
	for name, path := range big(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var f *File
			for b.Loop() {
				f = open(b, path, nil)
				start, _, ok := f.textStart()
				if !ok {
					b.Fatal("no code")
				}
				f.Symbol(start + 4096)
			}
			b.StopTimer()
			b.ReportMetric(float64(kept(func() { f = nil }))/1e6, "MB-kept")
		})
	}
}

// kept returns how much memory becomes free when drop has run.
func kept(drop func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	drop()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(before.HeapAlloc) - int64(after.HeapAlloc)
}

func (f *File) textStart() (start, size uint64, ok bool) {
	for _, s := range f.text {
		if s.end-s.start > size {
			start, size, ok = s.start, s.end-s.start, true
		}
	}
	return start, size, ok
}

// BenchmarkSymbol looks up addresses all over the code, with everything
// cached.
func BenchmarkSymbol(b *testing.B) {
	for name, path := range big(b) {
		b.Run(name, func(b *testing.B) {
			f := open(b, path, nil)
			start, size, _ := f.textStart()
			const n = 1 << 12
			for i := range uint64(n) {
				f.Symbol(start + size/n*i)
			}
			b.ReportAllocs()
			i := uint64(0)
			for b.Loop() {
				i = (i*5 + 1) % n
				f.Symbol(start + size/n*i)
			}
		})
	}
}

// BenchmarkByName looks up a name in an open file: for the first time, and
// again.
func BenchmarkByName(b *testing.B) {
	for _, c := range []struct{ name, path, symbol string }{
		{"libc-malloc", "/lib/x86_64-linux-gnu/libc.so.6", "malloc"},
		{"libc-absent", "/lib/x86_64-linux-gnu/libc.so.6", "no_such_function"},
		{"ldso-brk", "/lib64/ld-linux-x86-64.so.2", "_dl_debug_state"},
		{"node-absent", "/usr/bin/node", "no_such_function"},
		{"node-demangled", "/usr/bin/node", "v8::internal::Heap::CollectGarbage"},
	} {
		if _, err := os.Stat(c.path); err != nil {
			continue
		}
		f := open(b, c.path, nil)
		b.Run(c.name+"/cold", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.contents().byName.m = nil
				f.ByName(c.symbol)
			}
		})
		b.Run(c.name+"/warm", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.ByName(c.symbol)
			}
		})
	}
}

// BenchmarkLines looks up positions, with everything cached, in a C++ program
// with debug information.
func BenchmarkLines(b *testing.B) {
	f := open(b, inlineProgram(b, "-g"), nil)
	start, size, _ := f.textStart()
	buf := make([]Line, 0, 16)
	b.ReportAllocs()
	i := uint64(0)
	for b.Loop() {
		i = (i*5 + 7) % size
		buf = f.Lines(start+i, buf[:0])
	}
}

// BenchmarkFirstLine looks up the position of one address, with nothing
// cached, in libc and its separate debug file, whose sections are compressed.
func BenchmarkFirstLine(b *testing.B) {
	const libc = "/lib/x86_64-linux-gnu/libc.so.6"
	if _, err := os.Stat(libc); err != nil {
		b.Skip(err)
	}
	b.ReportAllocs()
	var f *File
	for b.Loop() {
		f = open(b, libc, &rootSource{dir: "/"})
		malloc := f.ByName("malloc")
		if len(malloc) == 0 || len(f.Lines(malloc[0].Addr+8, nil)) == 0 {
			b.Skip("no debug file of libc (libc6-dbg)")
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(kept(func() { f = nil }))/1e6, "MB-kept")
}
