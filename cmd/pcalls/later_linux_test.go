package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// TestLoadedLater: all calls in a file that a pattern names by its path are counted, however often it is mapped, by whichever name, and whether or not it
// is mapped when the counting begins. Their stacks have its functions.
func TestLoadedLater(t *testing.T) {
	uprobe.NeedLinks(t)
	dir := t.TempDir()
	plugin := ptest.Copy(t, ptest.BuildC(t, "plugin.c", "-shared", "-fPIC", "-g"))
	link := filepath.Join(dir, "link.so")
	if err := os.Symlink(plugin, link); err != nil {
		t.Fatal(err)
	}
	const threads = 2
	each := ptest.Rounds(100, 300, 3000)
	for _, c := range []struct {
		options []string
		path    string
		flags   []string
		want    string
	}{
		{nil, plugin, nil, ""},
		{nil, link, nil, ""},
		{nil, plugin, []string{"-m"}, ""}, // several times at once
		{[]string{"--by", "stack"}, plugin, nil, `"function":"plugin_call","offset":0,"object":"` + plugin},
		{[]string{"--slower", "1ns", "--where", "--args"}, plugin, nil, "plugin.c"},
	} {
		argv := append(append([]string{"--json"}, c.options...), c.path+"`plugin_*", "--",
			ptest.BuildC(t, "dlchurn.c"), "-t", fmt.Sprint(threads), "-n", fmt.Sprint(each), "-p", plugin)
		var out, said strings.Builder
		if code := run(context.Background(), append(argv, c.flags...), &out, &said); code != 0 {
			t.Fatalf("%q: status %d: %s", argv, code, &said)
		}
		if !strings.Contains(out.String(), c.want) {
			t.Errorf("%q: without %s:\n%.4000s", argv, c.want, &out)
		}
		var table []string
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, `"calls":`) {
				table = append(table, line)
			}
		}
		checkCounts(t, strings.Join(table, ""), map[string][2]int{"plugin_call": {threads * each, threads * each}})
	}
}

// TestExecutedLater: with --follow, so are those of another program that a child executes.
func TestExecutedLater(t *testing.T) {
	uprobe.NeedLinks(t)
	other := ptest.BuildC(t, "hits.c")
	var out, said strings.Builder
	argv := []string{"--json", "--follow", other + "`main", "--", "/bin/sh", "-c", other + " -n 1; " + other + " -n 1; true"}
	if code := run(context.Background(), argv, &out, &said); code != 0 {
		t.Fatalf("status %d: %s", code, &said)
	}
	checkCounts(t, out.String(), map[string][2]int{"main": {2, 2}})
}

// counting counts calls of a target, until end is called.
func counting(target *ptest.Target, args ...string) (end func() (code int, out, said string)) {
	ctx, cancel := context.WithCancel(context.Background())
	var out, said strings.Builder
	status := make(chan int)
	go func() { status <- run(ctx, append([]string{"-p", strconv.Itoa(target.PID)}, args...), &out, &said) }()
	target.WaitFor("probes", func() bool { return ptest.HasTraps(target.PID) })
	return func() (int, string, string) {
		cancel()
		return <-status, out.String(), said.String()
	}
}

// TestLoadedUnnamed: objects with functions that are asked for, and that were loaded meanwhile, are said not to be counted.
func TestLoadedUnnamed(t *testing.T) {
	uprobe.NeedCalls(t)
	plugin := ptest.Copy(t, ptest.BuildC(t, "plugin.c", "-shared", "-fPIC"))
	for pattern, told := range map[string]bool{"plugin_*": true, "a.out`plugin_*": false, "plugin_user": false} {
		target := ptest.Start(t, ptest.BuildC(t, "testdata/loadonce.c"), plugin)
		target.Ready()
		end := counting(target, "--json", pattern)
		fmt.Fprintln(target.Stdin)
		target.Line()
		code, _, said := end()
		if code != 0 || strings.Contains(said, tooBriefly) || strings.Contains(said, "loaded meanwhile (name it by its path): "+plugin) != told {
			t.Errorf("%s: status %d, said: %s", pattern, code, said)
		}
		target.Finish()
	}
}

// tooBriefly is said of objects that no look has seen.
const tooBriefly = "loaded too briefly to be seen"

// TestLoadedBriefly: it is said if objects come and go between two looks, unless no pattern means others than those that are mapped.
func TestLoadedBriefly(t *testing.T) {
	uprobe.NeedCalls(t)
	plugin := ptest.Copy(t, ptest.BuildC(t, "plugin.c", "-shared", "-fPIC"))
	for pattern, told := range map[string]bool{"getpid": true, "libc*`getpid": true, "libc`getpid": false} {
		target := ptest.Start(t, ptest.BuildC(t, "dlchurn.c"), "-t", "1", "-n", "100000000", "-p", plugin)
		target.Ready()
		var out, said strings.Builder
		if code := run(context.Background(), []string{"--json", "-t", "0.5", "-p", strconv.Itoa(target.PID), pattern}, &out, &said); code != 0 {
			t.Errorf("%s: status %d", pattern, code)
		}
		if strings.Contains(said.String(), tooBriefly) != told {
			t.Errorf("%s: said: %s", pattern, &said)
		}
	}
}

// TestCallerLoadedLater: the stack of a call has the functions of an object that was loaded after the counting began.
func TestCallerLoadedLater(t *testing.T) {
	uprobe.NeedCalls(t)
	plugin := ptest.Copy(t, ptest.BuildC(t, "testdata/loadonce.c", "-shared", "-fPIC", "-DPLUGIN"))
	target := ptest.Start(t, ptest.BuildC(t, "testdata/loadonce.c"), plugin)
	target.Ready()
	end := counting(target, "--json", "--where", "a.out`plugin_user")
	for range 100 { // the first calls are before the counting begins: how often it is called is looked at
		fmt.Fprintln(target.Stdin)
		target.Line()
		time.Sleep(5 * time.Millisecond)
	}
	if code, out, said := end(); code != 0 || !strings.Contains(out, `"function":"plugin_enter"`) || !strings.Contains(out, `"function":"main"`) {
		t.Errorf("status %d: %s%.2000s", code, said, out)
	}
	target.Finish()
}

// TestEndAtTheEnd: of a process that ends when the counting does it is not said that it has executed another program.
func TestEndAtTheEnd(t *testing.T) {
	uprobe.NeedCalls(t)
	for range ptest.Rounds(10, 30, 300) {
		target := ptest.Start(t, ptest.BuildC(t, "testdata/loadonce.c"), "none")
		target.Ready()
		ctx, cancel := context.WithCancel(context.Background())
		var out, said strings.Builder
		status := make(chan int)
		go func() { status <- run(ctx, []string{"-p", strconv.Itoa(target.PID), "plugin_user"}, &out, &said) }()
		target.WaitFor("probes", func() bool { return ptest.HasTraps(target.PID) })
		target.Kill()
		cancel()
		if code := <-status; code != 0 || strings.Contains(said.String(), "executed") {
			t.Errorf("status %d: %s", code, &said)
		}
		target.Wait()
	}
}
