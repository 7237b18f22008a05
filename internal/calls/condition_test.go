package calls

import (
	"strings"
	"testing"
)

// FuzzCondition: any text is a pattern, or an error.
func FuzzCondition(f *testing.F) {
	for _, text := range []string{"malloc(size > 1m)", `f(a == "x\")" && !(b->c.d != -5 || $1 <= 0x1f))`, "f(int)", "f(((((a))))", "g(0 < n)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePattern(text)
		if err != nil || p.Condition == nil {
			return
		}
		l := &layout{args: []argument{{name: "a", parts: []part{{14, 0, 8}}, text: -1, length: -1}}}
		if k, err := l.resolve(p.Condition); err == nil && k == nil {
			t.Errorf("%q has no condition", text)
		}
	})
}

// TestParametersOrCondition: what is in parentheses behind a name are parameters, unless it has the signs of a condition.
func TestParametersOrCondition(t *testing.T) {
	for _, text := range []string{
		"f(int&&)", "f(A<1> const&)", "f(int, char*)", "f(std::map<int, A<(B)1> >)", "f(void (*)(int))", "main.(*T).Get", "operator()", "f()",
	} {
		if p, err := ParsePattern(text); err != nil || p.Condition != nil {
			t.Errorf("%s: %v, %v", text, p.Condition, err)
		}
	}
	for text, want := range map[string]string{
		"f(r->id / 50 == 0)": `"/ 50 == 0" is not expected there`, "f(a = 3)": "not expected", "f(a +1 == 2)": "not expected", "f($1 % 0)": "% wants a number",
		"f(a % -2 == 0)": "% wants a number",
	} {
		if p, err := ParsePattern(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", text, p.Condition, err, want)
		}
	}
}
