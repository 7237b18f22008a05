package ptools_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// limits bound the size of one type. A type with more is several types.
var limits = size{methods: 40, fields: 20, bools: 3}

// large are the types that exceed the limits, and why. A type in this table that is within the limits is an error, too.
var large = map[string]string{
	"internal/x86 Regs":          "a field for each register of struct user_regs_struct",
	"pctl Registers":             "the same, as clients see it",
	"pctl Event":                 "one value for all kinds of event, so that streams have one type; each Kind says which fields it sets",
	"pctl/notify Event":          "the same, as it goes through queues that must not allocate",
	"internal/flame firefoxMeta": "switches of a foreign format, all of which are constant",
}

// size counts what a type itself has, without what it has from embedded types.
type size struct{ methods, fields, bools int }

// over reports whether a type is too large.
func (s size) over() bool {
	return s.methods > limits.methods || s.fields > limits.fields || s.bools > limits.bools
}

func (s size) String() string {
	return fmt.Sprintf("%d methods, %d fields, %d bools", s.methods, s.fields, s.bools)
}

// sizes counts the parts of the types that are declared outside of tests. Files for different platforms count together,
// where they declare different methods.
func sizes(t *testing.T) map[string]size {
	t.Helper()
	methods, structs := map[string]map[string]bool{}, map[string]size{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv != nil {
					name := filepath.Dir(path) + " " + receiver(decl.Recv.List[0].Type)
					if methods[name] == nil {
						methods[name] = map[string]bool{}
					}
					methods[name][decl.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok {
						name, s := filepath.Dir(path)+" "+ts.Name.Name, fieldsOf(ts.Type)
						structs[name] = size{0, max(s.fields, structs[name].fields), max(s.bools, structs[name].bools)}
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range methods {
		structs[name] = size{len(m), structs[name].fields, structs[name].bools}
	}
	return structs
}

// receiver returns the name of a method's type.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// fieldsOf counts the fields of a struct. An embedded field counts as one.
func fieldsOf(x ast.Expr) (s size) {
	st, ok := x.(*ast.StructType)
	if !ok {
		return s
	}
	for _, f := range st.Fields.List {
		n := max(len(f.Names), 1)
		s.fields += n
		switch x := f.Type.(type) {
		case *ast.Ident:
			if x.Name == "bool" {
				s.bools += n
			}
		case *ast.SelectorExpr:
			if x.Sel.Name == "Bool" { // of package atomic
				s.bools += n
			}
		}
	}
	return s
}

// TestTypes: no type has more than the limits, but for those that say why. With -v it names the largest.
func TestTypes(t *testing.T) {
	all := sizes(t)
	for name, s := range all {
		switch why := large[name]; {
		case s.over() && why == "":
			t.Errorf("%s has %v: give what belongs together a type that says what it is", name, s)
		case !s.over() && why != "":
			t.Errorf("%s has %v, and is in the table of large types", name, s)
		}
	}
	for name := range large {
		if _, ok := all[name]; !ok {
			t.Errorf("%s is in the table of large types, and is none", name)
		}
	}
	for what, of := range map[string]func(size) int{
		"methods": func(s size) int { return s.methods }, "fields": func(s size) int { return s.fields }, "bools": func(s size) int { return s.bools },
	} {
		var names []string
		for name := range all {
			names = append(names, name)
		}
		slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(of(all[b]), of(all[a])), cmp.Compare(a, b)) })
		for _, name := range names[:10] {
			t.Logf("%3d %s: %s", of(all[name]), what, name)
		}
	}
}

// mostLines bounds the length of a file without tests. A longer one is about several things.
const mostLines = 350

// TestFiles: no file is longer than a reader can keep in mind.
func TestFiles(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		if n := bytes.Count(b, []byte("\n")); n > mostLines {
			t.Errorf("%s has %d lines: give what is not its subject a file of its own", path, n)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
