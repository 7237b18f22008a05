package usage

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"
)

// Print returns the man page, or a completion, of the command with a help text. values has the words that flags accept,
// by long name, for flags that accept one of a few words.
func Print(kind, help string, values map[string][]string) (string, error) {
	p := Parse(help)
	var b strings.Builder
	switch kind {
	case "man":
		p.man(&b)
	case "bash":
		p.bash(&b, values)
	case "zsh":
		p.zsh(&b, values)
	case "fish":
		p.fish(&b, values)
	default:
		return "", Errorf("--print knows man, bash, zsh or fish, not %q", kind)
	}
	return b.String(), nil
}

// Version returns a line with a program's name, its version or commit, and the compiler, as the build has recorded
// them.
func Version(name string) string {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		settings := make(map[string]string)
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		version = strings.Trim(info.Main.Version, "()")
		if revision := settings["vcs.revision"]; revision != "" && (version == "" || version == "devel") {
			version = revision[:min(12, len(revision))]
			if settings["vcs.modified"] == "true" {
				version += " with changes"
			}
		}
	}
	return fmt.Sprintf("%s %s (%s, %s/%s)\n", name, version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// man writes the man page.
func (p *Page) man(b *strings.Builder) {
	fmt.Fprintf(b, ".TH %s 1\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", strings.ToUpper(p.Name), p.Name, roff(uncapitalized(firstSentence(p.Intro))))
	for i, s := range p.Synopsis {
		if i > 0 {
			b.WriteString(".br\n")
		}
		fmt.Fprintf(b, "%s\n", roff(s))
	}
	b.WriteString(".SH DESCRIPTION\n")
	paragraphs(b, append(slices.Clone(p.Intro), p.Outro...))
	b.WriteString(".SH OPTIONS\n")
	for _, f := range p.Flags {
		names := "\\fB\\-\\-" + roff(f.Long) + "\\fR"
		if f.Short != "" {
			names = "\\fB\\-" + f.Short + "\\fR, " + names
		}
		if f.Arg != "" {
			names += " \\fI" + roff(f.Arg) + "\\fR"
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", names, roff(f.Text))
	}
	b.WriteString(".SH EXAMPLES\n.nf\n")
	for _, e := range p.Examples {
		fmt.Fprintf(b, "%s\n", roff(e))
	}
	b.WriteString(".fi\n")
}

func firstSentence(paragraphs []string) string {
	if len(paragraphs) == 0 {
		return ""
	}
	s, _, _ := strings.Cut(paragraphs[0], ".")
	return s
}

// uncapitalized is s with its first letter in lower case; names further on keep theirs.
func uncapitalized(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToLower(s[:n]) + s[n:]
}

func paragraphs(b *strings.Builder, list []string) {
	for i, s := range list {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		fmt.Fprintf(b, "%s\n", roff(s))
	}
}

// roff escapes a text so that it has no commands of troff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...", "`", `\(ga`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}

// kind is what a flag takes, for completions.
type kind uint8

const (
	nothing kind = iota
	words
	pids
	files
	other
)

func (f *Flag) kind(values map[string][]string) kind {
	switch {
	case f.Arg == "":
		return nothing
	case values[f.Long] != nil:
		return words
	case strings.HasPrefix(f.Arg, "PID"):
		return pids
	case f.Arg == "FILE":
		return files
	}
	return other
}

func (p *Page) bash(b *strings.Builder, values map[string][]string) {
	fmt.Fprintf(b, "_%s() {\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n\tcase $prev in\n", p.Name)
	var all []string
	for _, f := range p.Flags {
		names := "--" + f.Long
		all = append(all, names)
		if f.Short != "" {
			names = "-" + f.Short + "|" + names
		}
		of := ""
		switch f.kind(values) {
		case nothing:
			continue
		case words:
			of = `-W "` + strings.Join(values[f.Long], " ") + `"`
		case pids:
			of = `-W "$(cd /proc && echo [0-9]*)"`
		case files:
			of = "-f"
		case other:
			of = `-W ""`
		}
		fmt.Fprintf(b, "\t%s) COMPREPLY=($(compgen %s -- \"$cur\")); return ;;\n", names, of)
	}
	fmt.Fprintf(b, "\tesac\n\tcase $cur in\n\t-*) COMPREPLY=($(compgen -W \"%s\" -- \"$cur\")) ;;\n\t*) COMPREPLY=($(compgen -c -f -- \"$cur\")) ;;\n\tesac\n}\ncomplete -F _%s %[2]s\n",
		strings.Join(all, " "), p.Name)
}

func (p *Page) zsh(b *strings.Builder, values map[string][]string) {
	fmt.Fprintf(b, "#compdef %s\n_arguments -s -S \\\n", p.Name)
	quote := strings.NewReplacer(`'`, `'\''`, "[", `\[`, "]", `\]`, ":", `\:`)
	for _, f := range p.Flags {
		of := ""
		switch f.kind(values) {
		case words:
			of = ":" + f.Arg + ":(" + strings.Join(values[f.Long], " ") + ")"
		case pids:
			of = ":" + f.Arg + ":_pids"
		case files:
			of = ":" + f.Arg + ":_files"
		case other:
			of = ":" + quote.Replace(f.Arg) + ": "
		}
		text := "[" + quote.Replace(f.Text) + "]"
		if f.Short != "" {
			fmt.Fprintf(b, "\t'*-%s%s%s' \\\n", f.Short, text, of)
		}
		fmt.Fprintf(b, "\t'*--%s%s%s' \\\n", f.Long, text, of)
	}
	b.WriteString("\t'*::command:_normal'\n")
}

func (p *Page) fish(b *strings.Builder, values map[string][]string) {
	quote := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	for _, f := range p.Flags {
		fmt.Fprintf(b, "complete -c %s", p.Name)
		if f.Short != "" {
			fmt.Fprintf(b, " -s %s", f.Short)
		}
		fmt.Fprintf(b, " -l %s -d '%s'", f.Long, quote.Replace(f.Text))
		switch f.kind(values) {
		case words:
			fmt.Fprintf(b, " -x -a '%s'", strings.Join(values[f.Long], " "))
		case pids:
			b.WriteString(" -x -a '(__fish_complete_pids)'")
		case files:
			b.WriteString(" -r -F")
		case other:
			b.WriteString(" -x")
		}
		b.WriteByte('\n')
	}
}
