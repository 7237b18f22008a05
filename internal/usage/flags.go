package usage

import (
	"fmt"

	"github.com/spf13/pflag"
)

// Error is the error of an invalid command line.
type Error struct{ error }

// Errorf makes an Error.
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }

// Text is a text about the command that the command line asks for. The command prints it and does
// nothing else.
type Text string

func (Text) Error() string { return "asked for a text" }

// Flags defines the flags that ask for a Text.
func Flags(f *pflag.FlagSet) {
	f.Bool("version", false, "print version and commit")
	f.String("print", "", "print `WHAT`: man (a man page), or the completion of bash, zsh\nor fish")
	f.BoolP("help", "h", false, "print this text")
}

// Asked returns the Text that flags ask for, or nil. values are those of Print, without those of
// --print itself.
func Asked(f *pflag.FlagSet, help string, values map[string][]string) error {
	if yes, _ := f.GetBool("help"); yes {
		return Text(help)
	}
	if yes, _ := f.GetBool("version"); yes {
		return Text(Version(f.Name()))
	}
	if !f.Changed("print") {
		return nil
	}
	values["print"] = []string{"man", "bash", "zsh", "fish"}
	kind, _ := f.GetString("print")
	text, err := Print(kind, help, values)
	if err != nil {
		return err
	}
	return Text(text)
}
