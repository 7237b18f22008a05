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

//go:noinline
func deferred(s string, base int) (n int, err error) {
	defer func() {
		if err != nil {
			sink = err
		}
	}()
	if base == 0 {
		return 0, errors.New("base is 0")
	}
	return len(s), nil
}

//go:noinline
func safe(k int) (r int) {
	defer func() {
		if recover() != nil {
			r = -1
		}
	}()
	return 100 / k
}

type tree[K comparable, V any] struct{ n int }

//go:noinline
func (t *tree[K, V]) put(k K, v V) int { sink = k; return t.n }

type pairOf[T any] struct{ v, w T }

//go:noinline
func (p pairOf[T]) set(a, b T) T { sink = b; return a }

//go:noinline
func makes[T any](d T) func(a T, k int) T {
	return func(a T, k int) T { sink = k; return a }
}

//go:noinline
func eleven(a int) (r1, r2, r3, r4, r5, r6, r7, r8, r9, r10, r11 int) {
	return 1, 2, 3, 4, 5, 6, 7, 8, 9, a, 11
}

//go:noinline
func twice(x int) [2]int { return [2]int{x, x} }

//go:noinline
func called(f func(int) int, n int) int { return f(n) }

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
		deferred("abc", 10)
		say(`main.deferred: s="abc", base=10 = (3, nil)`)
		safe(5)
		say("main.safe: k=5 = 20")
		safe(0)
		say("main.safe: k=0 = -1")
		made := &tree[string, int]{7}
		made.put("k1", 51)
		say(`main.(*tree[go.shape.string,go.shape.int]).put: t=%s, k="k1", v=51 = 7`, pointer(made))
		pairOf[int]{20, 21}.set(22, 23)
		say("main.pairOf[go.shape.int].set: p={v=20, w=21}, a=22, b=23 = 22")
		makes(1)(3, 43)
		say("main.makes[go.shape.int].func1: a=3, k=43 = 3")
		makes("")("aa", 44)
		say(`main.makes[go.shape.string].func1: a="aa", k=44 = "aa"`)
		eleven(10)
		say("main.eleven: a=10 = (1, 2, 3, 4, 5, 6, 7, 8, 9, ?, ?)")
		twice(9)
		say("main.twice: x=9 = [?, ?]")
		f := func(n int) int { return n + p.X }
		called(f, 1)
		say("main.called: f=%#x, n=1 = 4", *(*uintptr)(unsafe.Pointer(&f)))
		say("end")
	}
}
