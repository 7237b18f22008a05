package ptools_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestNosplit: what runs without a stack that grows (in a forked child, or while the scheduler takes the thread to be in a system
// call) calls only functions that are like it. The linker follows calls only to bound their stacks, and a method that is
// inlined in a usual build is called under the race detector, with code that may grow the stack.
func TestNosplit(t *testing.T) {
	flat := map[string]map[string]bool{"syscall": nil, "unsafe": nil, "atomic": nil} // names of functions by package; nil: all
	for _, dir := range []string{"internal/ptrace", "internal/guard"} {
		fset := token.NewFileSet()
		name := path.Base(dir)
		all, names := functionsOf(t, fset, dir), make(map[string]bool)
		for _, fn := range all {
			names[fn.Name.Name] = names[fn.Name.Name] || fn.Body == nil || isNosplit(fn)
		}
		flat[name] = names
		for _, fn := range all {
			if fn.Body == nil || !isNosplit(fn) {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				called := ""
				if call, ok := n.(*ast.CallExpr); ok {
					called = grows(call, name, flat)
				}
				if called != "" {
					t.Errorf("%s: %s is nosplit and calls %s", fset.Position(n.Pos()), fn.Name.Name, called)
				}
				return true
			})
		}
	}
}

// grows returns what a call is to, if that may grow the stack.
func grows(call *ast.CallExpr, pkg string, flat map[string]map[string]bool) string {
	switch f := call.Fun.(type) {
	case *ast.Ident: // or a conversion, or built in: those have no declaration
		if ok, declared := flat[pkg][f.Name]; declared && !ok {
			return f.Name
		}
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok {
			if names, known := flat[x.Name]; known && (names == nil || names[f.Sel.Name]) {
				return ""
			}
		}
		if !flat[pkg][f.Sel.Name] {
			return f.Sel.Name
		}
	}
	return ""
}

func functionsOf(t *testing.T, fset *token.FileSet, dir string) (all []*ast.FuncDecl) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", dir, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				all = append(all, fn)
			}
		}
	}
	return all
}

func isNosplit(fn *ast.FuncDecl) bool {
	if fn.Doc == nil {
		return false
	}
	for _, c := range fn.Doc.List {
		if c.Text == "//go:nosplit" {
			return true
		}
	}
	return false
}
