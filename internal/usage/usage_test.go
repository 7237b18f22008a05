package usage

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const help = `usage: tool [flags] -p PID[,PID…]
       tool --demo

Does what's asked of Go. More
of it.

flags:
  -p, --pid PID             a running process: [any],
                            or more
  -O, --format FORMAT       one 'of' a few \ words
      --out FILE            where to
  -t, --time DURATION       how long
  -q, --quiet               no progress

.Signals end it.

examples:
  tool -p 1 | tee x
`

var values = map[string][]string{"format": {"text", "json"}}

func TestParse(t *testing.T) {
	want := &Page{
		Name: "tool", Synopsis: []string{"tool [flags] -p PID[,PID…]", "tool --demo"}, Intro: []string{"Does what's asked of Go. More of it."},
		Flags: []Flag{
			{"p", "pid", "PID", "a running process: [any], or more"}, {"O", "format", "FORMAT", `one 'of' a few \ words`},
			{"", "out", "FILE", "where to"}, {"t", "time", "DURATION", "how long"}, {"q", "quiet", "", "no progress"},
		},
		Outro: []string{".Signals end it."}, Examples: []string{"  tool -p 1 | tee x"},
	}
	if d := cmp.Diff(want, Parse(help)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func printed(t *testing.T, kind string) string {
	t.Helper()
	text, err := Print(kind, help, values)
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return text
}

// TestPrint: quotes, brackets and dots of the text do not become syntax.
func TestPrint(t *testing.T) {
	for kind, want := range map[string][]string{
		"man":  {"\n\\fB\\-p\\fR, \\fB\\-\\-pid\\fR \\fIPID\\fR\n", "\n\\&.Signals end it.\n", "\ntool \\- does what\\(aqs asked of Go\n"},
		"zsh":  {`'*-p[a running process\: \[any\], or more]:PID:_pids'`, `'*--format[one '\''of'\'' a few \ words]:FORMAT:(text json)'`, "'*--quiet[no progress]'"},
		"fish": {`complete -c tool -s O -l format -d 'one \'of\' a few \\ words' -x -a 'text json'`, "complete -c tool -l out -d 'where to' -r -F"},
	} {
		out := printed(t, kind)
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s lacks %q:\n%s", kind, w, out)
			}
		}
	}
	if _, err := Print("csh", help, values); err == nil {
		t.Error("printed for csh")
	}
	if v := Version("tool"); !strings.HasPrefix(v, "tool ") || !strings.HasSuffix(v, ")\n") {
		t.Errorf("version %q", v)
	}
}

// TestBash has bash complete words.
func TestBash(t *testing.T) {
	script := printed(t, "bash")
	for words, want := range map[string]string{
		"tool --fo": "--format", "tool -O te": "text", "tool --format ": "text json", "tool -t ": "", "tool -q --q": "--quiet", "tool -p 1": "1",
	} {
		list := strings.Split(words, " ")
		run := exec.Command("bash", "-c", script+"\nCOMP_WORDS=(\"$@\"); COMP_CWORD=$(($#-1)); _tool; echo \"${COMPREPLY[@]}\"", "bash")
		run.Args = append(run.Args, list...)
		out, err := run.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got := strings.Fields(string(out))
		if list[1] == "-p" {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %q", words, got)
			}
		} else if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
}
