package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ptools/internal/perfevent"
)

// size is the value of a flag that is a number of bytes, as 64k.
type size int

func (s *size) String() string { return strconv.Itoa(int(*s)) }
func (s *size) Type() string   { return "SIZE" }

func (s *size) Set(text string) error {
	digits, kilo := strings.CutSuffix(strings.ToLower(text), "k")
	n, err := strconv.Atoi(digits)
	if kilo {
		n <<= 10
	}
	switch {
	case err != nil || n <= 0:
		return errors.New("not a number of bytes, as 64k")
	case n > perfevent.MostStack:
		return fmt.Errorf("more than %dk", perfevent.MostStack>>10)
	}
	*s = size(n)
	return nil
}
