package ptest

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// sources are the targets of this package; the tests of other packages build them by name.
//
//go:embed testdata
var sources embed.FS

// requireEnv lists the programs whose absence is a failure, and no reason to skip: those that the
// Makefile has installed.
const requireEnv = "PTOOLS_REQUIRE"

// BuildC compiles a C, C++ (.cc) or assembler (.S) source and returns the path of the executable,
// whose name is the source's without its ending. A src without a slash is one of this package's
// testdata, otherwise a file. A part in assembler is beside the source, with the ending .S. The flags
// follow -O2 and -pthread; -l flags come last.
//
// Every test binary on the machine uses an executable again that was made with the same compiler,
// flags and headers.
func BuildC(t testing.TB, src string, flags ...string) string {
	t.Helper()
	cc := "gcc"
	if strings.HasSuffix(src, ".cc") {
		cc = "g++"
	}
	return build(t, cc, src, flags)
}

// BuildMusl is [BuildC] with musl's libc.
func BuildMusl(t testing.TB, src string, flags ...string) string {
	t.Helper()
	return build(t, "musl-gcc", src, flags)
}

// BuildGo compiles one Go source file like [BuildC]. The flags are those of go build.
func BuildGo(t testing.TB, src string, flags ...string) string {
	t.Helper()
	return build(t, "go", src, flags)
}

// BuildRust compiles one Rust source file like [BuildC]. The flags are those of rustc.
func BuildRust(t testing.TB, src string, flags ...string) string {
	t.Helper()
	Need(t, "rustc")
	if out, err := exec.Command("rustc", "--version").CombinedOutput(); err != nil {
		t.Skipf("rustc: %v, %s", err, out) // it belongs to the rustup of another user
	}
	return build(t, "rustc", src, flags)
}

// BuildJava compiles one Java source file like [BuildC], and returns the command that runs its class.
func BuildJava(t testing.TB, src string) []string {
	t.Helper()
	Need(t, "java")
	class := build(t, "javac", src, nil)
	return []string{"java", "-cp", filepath.Dir(class), stem(filepath.Base(class))}
}

// Need skips the test when a program, by name or by path, is not installed, or fails it if the program
// should be.
func Need(t testing.TB, program string) {
	t.Helper()
	switch {
	case installed(program):
	case required(filepath.Base(program)):
		t.Fatalf("%s is not installed", program)
	default:
		t.Skipf("%s is not installed", program)
	}
}

func required(program string) bool {
	return slices.Contains(strings.Fields(os.Getenv(requireEnv)), program)
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// Copy returns a copy of a file under the same name in a new directory. The linker of a target treats
// it as another object, and a test may remove it or write to it.
func Copy(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), filepath.Base(file))
	WriteProgram(t, name, b)
	return name
}

// WriteProgram writes a file that can be executed at once. No goroutine forks meanwhile: a child that another
// test makes would have the descriptor until its exec, and a file that is open for writing cannot be executed
// (ETXTBSY).
func WriteProgram(t testing.TB, name string, program []byte) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(name, program, 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}

// build returns the cached executable.
func build(t testing.TB, cc, src string, flags []string) string {
	t.Helper()
	Need(t, cc)
	files, err := sourceFiles(src)
	if err != nil {
		t.Fatalf("ptest: %v", err)
	}
	src = filepath.Base(src)
	return Cached(t, product(cc, src), func(tmp, dir string) error {
		for file, content := range files {
			if err := os.WriteFile(filepath.Join(tmp, file), content, 0o644); err != nil {
				return err
			}
		}
		cmd := compile(cc, src, files, tmp, dir, flags)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %v\n%s", cmd.Args, err, out)
		}
		return nil
	}, CompilerVersion(cc), src, flags, files) // fmt prints maps in the order of their keys
}

// product is what a compiler makes of a source.
func product(cc, src string) string {
	if cc == "javac" {
		return stem(src) + ".class"
	}
	return stem(src)
}

// compile returns the command that makes the executable from src in the directory tmp. Debug
// information names dir, where the sources will be.
func compile(cc, src string, files map[string][]byte, tmp, dir string, flags []string) *exec.Cmd {
	name := stem(src)
	var args []string
	switch cc {
	case "go":
		args = append([]string{"build", "-buildvcs=false", "-o", name}, flags...)
		args = append(args, src)
	case "rustc":
		args = append(slices.Clip(flags), "-o", name, src)
	case "javac":
		args = append(slices.Clip(flags), src)
	default:
		args = []string{"-O2", "-g", "-Wall", "-Wextra", "-pthread", "-fdebug-prefix-map=" + tmp + "=" + dir}
		var last []string
		for _, f := range flags {
			if strings.HasPrefix(f, "-l") {
				last = append(last, f)
			} else {
				args = append(args, f)
			}
		}
		args = append(args, "-o", name, src)
		if asm := name + ".S"; files[asm] != nil && asm != src {
			args = append(args, asm)
		}
		args = append(args, last...)
	}
	cmd := exec.Command(cc, args...)
	cmd.Dir = tmp
	return cmd
}

// stem returns the name of a source without its ending.
func stem(src string) string { return strings.TrimSuffix(src, filepath.Ext(src)) }

// sourceFiles returns the source, its part in assembler, and the headers beside it, by name.
func sourceFiles(src string) (map[string][]byte, error) {
	read, dir := os.ReadFile, filepath.Dir(src)
	list := os.ReadDir
	if !strings.Contains(src, "/") {
		read, list, dir = sources.ReadFile, sources.ReadDir, "testdata"
	}
	entries, err := list(dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if name := e.Name(); name != filepath.Base(src) && name != stem(filepath.Base(src))+".S" && filepath.Ext(name) != ".h" {
			continue
		}
		if files[e.Name()], err = read(dir + "/" + e.Name()); err != nil {
			return nil, err
		}
	}
	if files[filepath.Base(src)] == nil {
		return nil, fmt.Errorf("no source %s", src)
	}
	return files, nil
}

var versions sync.Map // compiler: what it says about itself

// CompilerVersion is what a compiler says about itself.
func CompilerVersion(cc string) string {
	if v, ok := versions.Load(cc); ok {
		return v.(string)
	}
	arg := "--version"
	if cc == "go" {
		arg = "version"
	}
	out, err := exec.Command(cc, arg).Output()
	if err != nil {
		out = []byte(err.Error())
	}
	v := cc + "\n" + string(out)
	versions.Store(cc, v)
	return v
}
