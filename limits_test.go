package ptools_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// limits bound the size of one type. A type with more is several types. Whole bounds what a reader has before him where such types are
// embedded in each other: all their methods can be called by one name.
var limits = size{methods: 40, whole: 60, fields: 20, bools: 3}

// large are the types that exceed the limits, and why. A type in this table that is within the limits is an error, too.
var large = map[string]string{
	"internal/x86 Regs":          "a field for each register of struct user_regs_struct",
	"pctl Registers":             "the same, as clients see it",
	"pctl Event":                 "one value for all kinds of event, so that streams have one type; each Kind says which fields it sets",
	"pctl/notify Event":          "the same, as it goes through queues that must not allocate",
	"internal/flame firefoxMeta": "switches of a foreign format, all of which are constant",

	"internal/elfsym File":          "the file is its image, and what is read of that; clients see one file",
	"internal/unwind Unwinder":      "the way out of one frame needs the plans, the code and the registers alike; what each is about has a type of its own",
	"internal/profile docLoading":   "loads the Profile that is embedded in it, and is gone then",
	"internal/profile pprofLoading": "likewise",
}

// size counts what a type itself has, and with whole the methods that it has from embedded types of its package too.
type size struct{ methods, whole, fields, bools int }

// over reports whether a type is too large.
func (s size) over() bool {
	return s.methods > limits.methods || s.whole > limits.whole || s.fields > limits.fields || s.bools > limits.bools
}

func (s size) String() string {
	return fmt.Sprintf("%d methods, %d with those of embedded types, %d fields, %d bools", s.methods, s.whole, s.fields, s.bools)
}

// sizes counts the parts of the types that are declared outside of tests. Files for different platforms count together,
// where they declare different methods: a method that each of them declares is one.
func sizes(t *testing.T) map[string]size {
	t.Helper()
	methods, structs, embedded := map[string]map[string]bool{}, map[string]size{}, map[string]map[string]bool{}
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
						structs[name] = size{fields: max(s.fields, structs[name].fields), bools: max(s.bools, structs[name].bools)}
						if embedded[name] == nil {
							embedded[name] = map[string]bool{}
						}
						for _, other := range embeddedIn(ts.Type) {
							embedded[name][filepath.Dir(path)+" "+other] = true
						}
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range structs {
		whole := map[string]bool{}
		collect(name, methods, embedded, whole, map[string]bool{})
		s.methods, s.whole = len(methods[name]), len(whole)
		structs[name] = s
	}
	return structs
}

// collect adds the methods of a type and of those that are embedded in it.
func collect(name string, methods, embedded map[string]map[string]bool, whole, seen map[string]bool) {
	if seen[name] {
		return
	}
	seen[name] = true
	maps.Copy(whole, methods[name])
	for other := range embedded[name] {
		collect(other, methods, embedded, whole, seen)
	}
}

// embeddedIn returns the names of the types of the same package that are embedded in a struct.
func embeddedIn(x ast.Expr) (names []string) {
	st, ok := x.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, f := range st.Fields.List {
		if name := receiver(f.Type); len(f.Names) == 0 && name != "" {
			names = append(names, name)
		}
	}
	return names
}

// receiver returns the name of a method's type.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr: // of several type parameters
		return receiver(x.X)
	case *ast.ParenExpr:
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
		"methods": func(s size) int { return s.methods }, "methods in all": func(s size) int { return s.whole },
		"fields": func(s size) int { return s.fields }, "bools": func(s size) int { return s.bools },
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
