// Package usage makes a command's man page and shell completions from the text
// that it prints for --help. So the flags are described in one place.
package usage

import (
	"regexp"
	"strings"
	"sync"
)

// Page is a parsed help text.
type Page struct {
	Name     string
	Synopsis []string
	Intro    []string // paragraphs before the flags
	Flags    []Flag
	Outro    []string // paragraphs after them
	Examples []string // lines
}

// Flag is one flag.
type Flag struct {
	Short string // a letter, or nothing
	Long  string
	Arg   string // name of its argument, or empty
	Text  string
}

// flagLine matches the first line of a flag. It is compiled only when it is needed, because compiling takes longer
// than the rest of a command's start.
var flagLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ {2}(?:-(\w), |    )--([a-z][a-z0-9-]*)(?: (\S+))?(?:  +(.*))?$`)
})

// Parse parses a help text. The first line begins "usage: NAME". The line of a flag begins with two blanks, and its
// description continues in lines that are indented further. "examples:" ends the paragraphs.
func Parse(help string) *Page {
	p := &Page{}
	head, body, _ := strings.Cut(help, "\n\n")
	for line := range strings.Lines(strings.TrimPrefix(head, "usage:")) {
		p.Synopsis = append(p.Synopsis, strings.TrimSpace(line))
	}
	p.Name, _, _ = strings.Cut(p.Synopsis[0], " ")
	body, examples, _ := strings.Cut(body, "\nexamples:\n")
	for line := range strings.Lines(examples) {
		p.Examples = append(p.Examples, strings.TrimSuffix(line, "\n"))
	}
	paragraph := ""
	end := func() {
		if paragraph != "" && paragraph != "flags:" {
			if p.Flags == nil {
				p.Intro = append(p.Intro, paragraph)
			} else {
				p.Outro = append(p.Outro, paragraph)
			}
		}
		paragraph = ""
	}
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, "\n")
		m := flagLine().FindStringSubmatch(line)
		switch {
		case m != nil:
			end()
			p.Flags = append(p.Flags, Flag{m[1], m[2], m[3], m[4]})
		case strings.HasPrefix(line, "        ") && p.Flags != nil && paragraph == "":
			f := &p.Flags[len(p.Flags)-1]
			f.Text = strings.TrimSpace(f.Text + " " + strings.TrimSpace(line))
		case line == "":
			end()
		default:
			paragraph = strings.TrimSpace(paragraph + " " + line)
		}
	}
	end()
	return p
}
