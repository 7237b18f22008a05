package usage

import (
	"errors"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

const wrongHelp = "usage: tool\n\n  -F, --rate HZ   how often\n  -t, --time DURATION   how long\n      --follow   all\n      --count N   how many\n"

// TestWrong: errors of the flag parser are in terms of the flags, without the words of Go's packages.
func TestWrong(t *testing.T) {
	for _, tt := range []struct{ arg, want string }{
		{"--rate=abc", `-F HZ: "abc" is not a number`},
		{"-F99Hz", `-F HZ: "99Hz" is not a number`},
		{"--count=1.5", `--count N: "1.5" is not a whole number`},
		{"--follow=maybe", `--follow takes no value, but there is "maybe"`},
		{"--time", "--time needs a value: --time DURATION"},
		{"-F", "-F needs a value: -F HZ"},
		{"--rat", "there is no flag --rat (similar: --rate)"},
		{"--folow", "there is no flag --folow (similar: --follow)"},
		{"--nonsense", "there is no flag --nonsense"},
		{"-x", "there is no flag -x"},
		{"-follow", "there is no flag -follow: long flags have two dashes, --follow"},
		{"-time", `-time is -t with the value "ime": long flags have two dashes, --time`},
	} {
		f := pflag.NewFlagSet("tool", pflag.ContinueOnError)
		f.Usage = func() {}
		f.Float64P("rate", "F", 0, "")
		f.DurationP("time", "t", time.Second, "")
		f.Bool("follow", false, "")
		f.Int("count", 0, "")
		err := Wrong(f, wrongHelp, f.Parse([]string{tt.arg}))
		var wrong Error
		if !errors.As(err, &wrong) || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.arg, err, tt.want)
		}
	}
}

func TestSimilar(t *testing.T) {
	words := []string{"text", "folded", "pprof", "svg"}
	for word, want := range map[string]string{"pprog": "pprof", "FOLDED": "folded", "png": "", "fold": "folded", "x": "", "": ""} {
		if got := Similar(word, words); got != want {
			t.Errorf("%q is like %q, want %q", word, got, want)
		}
	}
}
