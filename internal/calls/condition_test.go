package calls

import "testing"

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
