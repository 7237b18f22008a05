// Gohost loads what its arguments say: "plugin PATH" or "library PATH" each. Both are golibrary, whose function Begin it calls. A line on
// standard input has it load the next one, and then write "ready".
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
static int begin(const char *path)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*f)(void) = object ? (void (*)(void))dlsym(object, "Begin") : 0;
	if (!f)
		return 0;
	f();
	return 1;
}
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"plugin"
)

func main() {
	go func() { <-make(chan int) }()
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for what := os.Args[1:]; lines.Scan(); what = what[2:] {
		if what[0] == "library" {
			if C.begin(C.CString(what[1])) == 0 {
				panic(C.GoString(C.dlerror()))
			}
		} else {
			p, err := plugin.Open(what[1])
			if err != nil {
				panic(err)
			}
			begin, err := p.Lookup("Begin")
			if err != nil {
				panic(err)
			}
			begin.(func())()
		}
		fmt.Println("ready")
	}
}
