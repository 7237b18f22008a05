package main

import "testing"

const folded = "_start;main;mix_round;fifty 60\n_start;main;mix_round;thirty 30\nmix_round;twenty 10\nclone3;start thread 7\nnonsense\n"

const perfScript = `
	    5581 fifty
	    5612 mix_round
	    5190 main
	    5200 _start

	    5581 thirty
	    7f00 [unknown]

`

func TestParseStacks(t *testing.T) {
	if got := parseFolded([]byte(folded)); len(got) != 4 || got[3].leaf() != "start thread" || got[0].count != 60 {
		t.Errorf("folded: %+v", got)
	}
	got := parsePerfScript([]byte(perfScript))
	if len(got) != 2 || got[0].leaf() != "fifty" || got[0].functions[0] != "_start" || len(got[0].functions) != 4 {
		t.Errorf("perf script: %+v", got)
	}
}

func TestWhole(t *testing.T) {
	if got := chainC.whole(parseFolded([]byte(folded))); got != 90 {
		t.Errorf("folded: %v %% are whole, want 90", got)
	}
	if got := chainC.whole(parsePerfScript([]byte(perfScript))); got != 50 {
		t.Errorf("perf script: %v %% are whole, want 50", got)
	}
	if got := chainGo.whole(nil); got != 0 {
		t.Errorf("of nothing %v %% are whole", got)
	}
}

func TestShareError(t *testing.T) {
	seen := leaves(parseFolded([]byte(folded)))
	got, err := shareError(seen, []float64{50, 30, 20})
	if err != nil || got < 9.999 || got > 10.001 {
		t.Errorf("%v points, %v; want 10", got, err)
	}
	if _, err := shareError([]float64{0, 0, 0}, []float64{1, 1, 1}); err == nil {
		t.Error("a profile without samples has no error")
	}
}
