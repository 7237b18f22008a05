package flame_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"ptools/internal/flame"
)

// TestSVG: the picture is valid XML with any names, and has the count of each box.
func TestSVG(t *testing.T) {
	g := flame.New()
	g.Title, g.About = "a<b>&\x01", []string{"1 s", `"quoted"`}
	g.Values = []flame.Value{{Name: "processor", Unit: flame.Nanoseconds}}
	th := g.Thread(flame.Thread{PID: 1, TID: 1, Name: "x"})
	main := g.Child(0, flame.Frame{Name: "main", Object: "/bin/x"}, nil)
	for i, name := range []string{"</title><script>alert(1)</script>", "\x00\xff]]>", strings.Repeat("L", 10_000)} {
		g.Add(g.Child(main, flame.Frame{Name: name, Object: "/bin/x"}, nil), th, []int64{int64(i+1) * 1e9})
	}
	g.Add(g.Child(main, flame.Frame{Name: "too narrow"}, nil), th, []int64{1000})
	var out bytes.Buffer
	if err := g.SVG(&out); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 20_000 {
		t.Errorf("%d bytes", out.Len())
	}
	var titles []string
	elements := make(map[string]int)
	d := xml.NewDecoder(&out)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			elements[e.Name.Local]++
			if e.Name.Local == "title" {
				var title string
				if err := d.DecodeElement(&title, &e); err != nil {
					t.Fatal(err)
				}
				titles = append(titles, title)
			}
		}
	}
	for _, want := range []string{"all (100.00 %, 6.000 s)", "main (100.00 %, 6.000 s)", "</title><script>alert(1)</script> (16.67 %, 1.000 s)"} {
		found := false
		for _, title := range titles {
			found = found || title == want
		}
		if !found {
			t.Errorf("no %q in %.300q", want, titles)
		}
	}
	if len(titles) != 5 || elements["script"] != 0 {
		t.Errorf("%d boxes, elements %v", len(titles), elements)
	}
}

// TestEmpty: an empty profile gives an empty page and an empty picture.
func TestEmpty(t *testing.T) {
	t.Parallel()
	g := flame.New()
	g.Title = "nothing"
	g.Values = []flame.Value{{Name: "processor", Unit: flame.Nanoseconds}}
	var out bytes.Buffer
	if err := g.SVG(&out); err != nil || !strings.Contains(out.String(), "<title>all </title>") {
		t.Errorf("%v: %s", err, out.String())
	}
	b := open(t, g.HTML)
	b.keys("sif")
}
