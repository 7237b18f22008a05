package usage

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Wrong returns the Error for an error of pflag's parser. It says what is wrong in terms of the flags in the help text.
func Wrong(f *pflag.FlagSet, help string, err error) error {
	var value *pflag.InvalidValueError
	var none *pflag.NotExistError
	var needs *pflag.ValueRequiredError
	switch {
	case errors.As(err, &value):
		return wrongValue(value, argOf(help, value.GetFlag().Name))
	case errors.As(err, &needs):
		flag := needs.GetFlag()
		name := "--" + flag.Name
		if needs.GetSpecifiedShortnames() != "" {
			name = "-" + flag.Shorthand
		}
		return Errorf("%s needs a value: %s %s", name, name, argOf(help, flag.Name))
	case errors.As(err, &none) && none.GetSpecifiedShortnames() != "":
		if all := none.GetSpecifiedShortnames(); len(all) > 1 && f.Lookup(all) != nil {
			return Errorf("there is no flag -%s: long flags have two dashes, --%s", all, all)
		}
		return Errorf("there is no flag -%s", none.GetSpecifiedName())
	case errors.As(err, &none):
		var names []string
		f.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		if near := Similar(none.GetSpecifiedName(), names); near != "" {
			return Errorf("there is no flag --%s (similar: --%s)", none.GetSpecifiedName(), near)
		}
		return Errorf("there is no flag --%s", none.GetSpecifiedName())
	}
	return Errorf("%w", err)
}

// argOf returns the name that the help gives to the argument of a flag.
func argOf(help, flag string) string {
	for _, f := range Parse(help).Flags {
		if f.Long == flag && f.Arg != "" {
			return f.Arg
		}
	}
	return "VALUE"
}

// wrongValue says what a flag takes.
func wrongValue(err *pflag.InvalidValueError, arg string) error {
	flag, value := err.GetFlag(), err.GetValue()
	name := "--" + flag.Name
	if flag.Shorthand != "" {
		name = "-" + flag.Shorthand
	}
	if flag.Shorthand+value == flag.Name {
		return Errorf("-%s is %s with the value %q: long flags have two dashes, --%s", flag.Name, name, value, flag.Name)
	}
	switch flag.Value.Type() {
	case "bool":
		return Errorf("%s takes no value, but there is %q", name, value)
	case "float64":
		return Errorf("%s %s: %q is not a number", name, arg, value)
	case "int":
		return Errorf("%s %s: %q is not a whole number", name, arg, value)
	}
	if _, ok := errors.AsType[*strconv.NumError](err); ok {
		return Errorf("%s %s: %q is not possible", name, arg, value)
	}
	return Errorf("%s %s: %q is %w", name, arg, value, errors.Unwrap(err))
}

// Similar returns the word that is meant by a mistyped one; "" if none is near.
func Similar(word string, words []string) string {
	best := ""
	nearest := (len(word)+2)/3 + 1 // one more than what is near
	for _, w := range slices.Sorted(slices.Values(words)) {
		d := distance(strings.ToLower(word), strings.ToLower(w))
		if strings.HasPrefix(w, word) && len(word) > 1 {
			d = 1
		}
		if d < nearest {
			best, nearest = w, d
		}
	}
	return best
}

// distance is how many bytes have to be inserted, removed or replaced.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

// Several says how processes are named after one that -p has been given, if the arguments that follow are numbers: they are
// what a shell makes of -p $(pidof NAME). Otherwise it returns nil.
func Several(pids, args []string) error {
	if len(pids) == 0 || len(args) == 0 {
		return nil
	}
	for _, arg := range args {
		if n, err := strconv.Atoi(arg); err != nil || n <= 0 {
			return nil
		}
	}
	if slices.Contains(pids, "id") {
		return Errorf("-pid is -p with the value \"id\": long flags have two dashes, --pid")
	}
	return Errorf("-p takes one argument: -p %s, or -p \"$(pidof NAME)\", or -p NAME", strings.Join(append(slices.Clone(pids), args...), ","))
}

// Beside says that -p and a command exclude each other, and what is meant if the command only sleeps: perf is told so how long
// to look.
func Beside(command []string) error {
	if len(command) == 2 && command[0] == "sleep" {
		return Errorf("-p and a command (sleep) exclude each other; for that time: -t %s", command[1])
	}
	return Errorf("-p and a command (%s) exclude each other", command[0])
}
