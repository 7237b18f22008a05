package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// sample is a row with two peers, one of which could not be measured.
func sample() *row {
	return &row{Name: "hits", Unit: perSecond, Note: "a remark", Series: []series{
		{Tool: "no tool", Role: none, Values: []float64{1e6}},
		{Tool: "slow", Role: peer, Values: []float64{90, 100, 110}},
		{Tool: "fast", Role: peer, Values: []float64{200}},
		{Tool: "absent", Role: peer, Note: "absent is not installed"},
		{Tool: "us", Role: ours, Values: []float64{500, 700, 600}},
	}}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name string
		goal goal
		want verdict
	}{
		{"the best peer of a rate is the fastest", goal{Peers: []string{"slow", "fast", "absent"}, AtLeast: 3},
			verdict{"fast", 200, 600, 3, true, true}},
		{"the best peer of a cost is the smallest", goal{Peers: []string{"slow", "fast"}, AtMost: 5},
			verdict{"slow", 100, 600, 6, false, true}},
		{"no peer was measured", goal{Peers: []string{"absent"}, AtMost: 5}, verdict{Ours: 600}},
		{"an absolute bound", goal{AtMost: 599}, verdict{Ours: 600, Ratio: 600, Known: true}},
		{"none at all", goal{None: true}, verdict{Ours: 600, Ratio: 600, Known: true}},
	} {
		if got := sample().judge(c.goal); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	r := row{Series: []series{{Role: ours, Values: []float64{0}}}}
	if v := r.judge(goal{None: true}); !v.Reached {
		t.Errorf("zero is not none: %+v", v)
	}
	if v := (&row{}).judge(goal{AtMost: 1}); v.Known || v.Reached {
		t.Errorf("judged without a measurement: %+v", v)
	}
}

func TestTables(t *testing.T) {
	x := sample()
	x.Goals = []goal{{Peers: []string{"slow", "fast"}, AtLeast: 6}, {AtMost: 1000}, {Peers: []string{"absent"}, AtMost: 2}}
	r := &report{Rows: []row{*x, {Name: "broken", Note: "no such file"}}, Repeats: 3}
	var text, markdown bytes.Buffer
	if err := r.text(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.markdown(&markdown); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"| hits | fast | 200 /s | 600 /s | 3 | >= 6x | no |",
		"| hits | - | - | 600 /s | - | <= 1 k/s | yes |",
		"| hits | absent | - | 600 /s | - | <= 2x | not measured |",
		"| hits | absent | - | - | 0 | absent is not installed |",
		"| hits | us | 600 /s | 500 /s to 700 /s | 3 | a remark |",
		"| broken | - | - | - | 0 | no such file |",
	} {
		if !strings.Contains(markdown.String(), line+"\n") {
			t.Errorf("no line %q in\n%s", line, markdown.String())
		}
		words := strings.Fields(strings.ReplaceAll(line, "|", " "))
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), strings.Join(words, " ")) {
			t.Errorf("no %q in\n%s", words, text.String())
		}
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := (&report{Rows: []row{*sample()}}).json(&b); err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if got := back.Rows[0].Series[4]; got.Tool != "us" || got.Role != ours || len(got.Values) != 3 {
		t.Errorf("read back as %+v", got)
	}
}
