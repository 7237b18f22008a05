// Gozoo has functions with arguments and results of many types. For each line that it reads it calls them all, and prints what pcalls is
// to show of each call, a line each: "name: arguments = result". "end" ends the list.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"unsafe"
)

type point struct {
	X, Y int
	name string
}

type small struct {
	a int32
	b uint8
}

type color uint8

type walker interface{ walk(n int) int }

var sink any

//go:noinline
func ints(a int, b int8, c uint16, d uint64, e bool, f color, g rune, h byte, i int32) int {
	return a + int(b) + int(c)
}

//go:noinline
func texts(s string, b []byte, empty string, n []int) (string, int) { sink = b; return s + "!", len(n) }

//go:noinline
func dynamic(err error, v any, none error, w walker) error { sink = v; return err }

//go:noinline
func structs(p point, q *point, s small, z struct{}) point { p.X += q.X; return p }

//go:noinline
func floats(x float64, n int, y float32) float64 { sink = y; return x * float64(n) }

//go:noinline
func arrays(one [1]int, two [2]int, n int) int { return one[0] + two[1] + n }

//go:noinline
func blank(_ int, n int) int { return n * 2 }

//go:noinline
func (p *point) walk(n int) int { return p.X + n }

//go:noinline
func (p point) value(n int) int { return p.Y + n }

//go:noinline
func generic[K comparable](k K, n int) int { sink = k; return n }

//go:noinline
func many(a, b, c, d, e, f, g, h, i, j, k int, s string) int { sink = s; return a + k + j }

func pointer[T any](p *T) string { return fmt.Sprintf("%#x", uintptr(unsafe.Pointer(p))) }

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func main() {
	in := bufio.NewScanner(os.Stdin)
	say("ready")
	p := &point{3, 4, "p"}
	err := errors.New("broken")
	bytes, numbers := []byte("bytes"), []int{1, 2, 3}
	data := func(v any) string { return pointer((*[2]*byte)(unsafe.Pointer(&v))[1]) }
	for in.Scan() {
		ints(-1, -2, 65535, 1<<63, true, 7, 'x', 255, -9)
		say("main.ints: a=-1, b=-2, c=65535, d=9223372036854775808, e=true, f=7, g=120, h=255, i=-9 = 65532")
		texts("hello", bytes, "", numbers)
		say(`main.texts: s="hello", b="bytes", empty="", n=%s(len 3, cap 3) = ("hello!", 3)`, pointer(&numbers[0]))
		dynamic(err, p, nil, p)
		say("main.dynamic: err=*errors.errorString(%s), v=*main.point(%s), none=nil, w=*main.point(%s) = *errors.errorString(%s)", data(err), data(p), data(p), data(err))
		structs(*p, p, small{1, 2}, struct{}{})
		name := pointer(unsafe.StringData(p.name))
		say("main.structs: p={X=3, Y=4, name=%s(len 1)}, q=%s, s={a=1, b=2}, z={} = {X=6, Y=4, name=%s(len 1)}", name, pointer(p), name)
		floats(1.5, 2, 2.5)
		say("main.floats: x=?, n=2, y=? = ?")
		arrays([1]int{1}, [2]int{2, 3}, 4)
		say("main.arrays: one=[1], two=[2, 3], n=4 = 8")
		blank(1, 2)
		say("main.blank: 1, n=2 = 4")
		p.walk(5)
		say("main.(*point).walk: p=%s, n=5 = 8", pointer(p))
		p.value(6)
		say("main.point.value: p={X=3, Y=4, name=%s(len 1)}, n=6 = 10", name)
		generic("key", 8)
		say(`main.generic[go.shape.string]: k="key", n=8 = 8`)
		generic(1, 9)
		say("main.generic[go.shape.int]: k=1, n=9 = 9")
		many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, "last")
		say(`main.many: a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8, i=9, j=10, k=11, s="last" = 22`)
		say("end")
	}
}
