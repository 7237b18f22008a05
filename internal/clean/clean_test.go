package clean

import (
	"encoding/json"
	"testing"
	"unicode"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"malloc":              "malloc",
		"/tmp/größe":          "/tmp/größe",
		"\x1b[2Jgone":         `\x1b[2Jgone`,
		"a\nb\tc\r":           `a\x0ab\x09c\x0d`,
		"\u202egnp.exe":       `\u202egnp.exe`,
		"csi\u009b2J":         `csi\u009b2J`,
		"bad\xff\xfeutf8":     `bad\xff\xfeutf8`,
		"del\x7f":             `del\x7f`,
		"tag\U000e0041hidden": `tag\U000e0041hidden`,
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("plain")
	f.Add("\x1b]0;title\x07")
	f.Add("\u009b\u202e\xff\U000e0041")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Text(s) {
			if !unicode.IsPrint(r) {
				t.Fatalf("Text(%q) holds %U", s, r)
			}
		}
		plain, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		b := JSON(plain)
		for _, r := range string(b) {
			if !unicode.IsPrint(r) {
				t.Fatalf("JSON(%q) holds %U", s, r)
			}
		}
		var want, got string
		if json.Unmarshal(plain, &want) != nil || json.Unmarshal(b, &got) != nil || got != want {
			t.Fatalf("cleanJSON changed %q to %q", want, got)
		}
	})
}
