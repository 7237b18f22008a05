package pctl_test

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os/exec"

	"ptools/pctl"
)

// Each call of a function of a running program, with arguments and result, and how long the calls took. Nothing is attached and no
// thread is stopped: the kernel counts at uprobes.
func ExampleProcess_Calls() {
	sh := exec.Command("sh", "-c", "echo ready; read line; echo $line; echo good bye")
	in, err1 := sh.StdinPipe()
	out, err2 := sh.StdoutPipe()
	if err1 != nil || err2 != nil {
		log.Fatal(err1, err2)
	}
	if err := sh.Start(); err != nil {
		log.Fatal(err)
	}
	defer sh.Wait()
	defer sh.Process.Kill()
	bufio.NewReader(out).ReadString('\n') // its libraries are mapped: those that come later are not searched

	s := pctl.NewSession(nil)
	defer s.Close()
	ctx := context.Background()
	p, err := s.Grab(ctx, sh.Process.Pid, &pctl.GrabOptions{ReadOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	calls, err := p.Calls(ctx, &pctl.CallSpec{Functions: []string{"libc`write($1 == 1)"}, Args: true})
	if err != nil {
		log.Fatal(err)
	}
	defer calls.Close()
	fmt.Fprintln(in, "hello")
	for e, err := range calls.All(ctx) {
		switch {
		case err != nil:
			log.Fatal(err)
		case e.Kind == pctl.KindCall:
			fmt.Println(e.Call.Name, e.Call.Args[2].V, "bytes:", e.Call.Results[0].V)
		}
	}
	for _, f := range calls.Stats() {
		fmt.Println(f.Calls, "calls of", f.Name, "took time:", f.Percentile(.5) > 0)
	}
	// Output:
	// write 6 bytes: 6
	// write 9 bytes: 9
	// 2 calls of write took time: true
}
