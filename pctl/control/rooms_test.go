package control

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tracing are the files of the tracees: what knows threads and stops.
var tracing = []string{
	"alarm.go", "alert.go", "children.go", "collect.go", "detach.go", "groupstop.go", "hooks.go", "latency.go", "look.go", "loop.go",
	"machine.go", "memory.go", "mode.go", "newborn.go", "parked.go", "phase.go", "reaper.go", "request.go", "restart.go", "roster.go", "seize.go",
	"sharedmemory.go", "spin.go", "stopall.go", "thread.go", "timeout.go", "trace.go", "tracees.go", "unannounced.go", "wait.go",
}

// TestRooms: the tracees name nothing of breakpoints, of the program's image or of the Controller. What these keep with a
// thread is one field of it.
func TestRooms(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	const kept = "threadTraps"
	above := map[string]string{"at": kept, "marks": kept, "uprobe": kept, "lone": kept} // step is a method of the machine, too
	below := map[string]*ast.File{}
	fset := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(tracing, name) {
			below[name] = f
			continue
		}
		for _, d := range f.Decls {
			for _, n := range declared(d) {
				above[n] = name
			}
		}
	}
	if len(below) != len(tracing) {
		t.Fatalf("%d of %d files", len(below), len(tracing))
	}
	for name, f := range below {
		for _, i := range f.Imports {
			if strings.HasPrefix(i.Path.Value, `"ptools/pctl`) {
				t.Errorf("%s imports %s", name, i.Path.Value)
			}
		}
		skip := map[*ast.Ident]bool{} // names of methods and fields
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				skip[n.Name] = true
			case *ast.Field:
				for _, id := range n.Names {
					skip[id] = true
				}
			case *ast.SelectorExpr:
				skip[n.Sel] = true
				if above[n.Sel.Name] == kept {
					t.Errorf("%v: %s is of the traps", fset.Position(n.Pos()), n.Sel.Name)
				}
			case *ast.Ident:
				if where := above[n.Name]; where != "" && where != kept && !skip[n] && n.Name != "threadTraps" {
					t.Errorf("%v: %s is of %s", fset.Position(n.Pos()), n.Name, where)
				}
			}
			return true
		})
	}
}

// declared returns the names that a declaration adds to the package.
func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}
