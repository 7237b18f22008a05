// Gowaits is a program in which, of -n goroutines, half wait for a channel, three tenths for a mutex and a fifth for the network.
// Those of the channel have the label wait=channel. It ends when standard input does.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime/pprof"
	"sync"
)

var (
	channel = make(chan int)
	mutex   sync.Mutex
	ready   sync.WaitGroup
)

//go:noinline
func waitsForChannel() { ready.Done(); <-channel }

//go:noinline
func waitsForMutex() { ready.Done(); mutex.Lock() }

//go:noinline
func waitsForNetwork(c net.Conn) { ready.Done(); c.Read(make([]byte, 1)) }

func connect(l net.Listener) (client, server net.Conn) {
	client, err := net.Dial(l.Addr().Network(), l.Addr().String())
	if err != nil {
		panic(err)
	}
	server, err = l.Accept()
	if err != nil {
		panic(err)
	}
	return client, server
}

func main() {
	n := flag.Int("n", 1000, "goroutines")
	flag.Parse()
	mutex.Lock()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	ready.Add(*n)
	var servers []net.Conn
	for i := 0; i < *n; i++ {
		switch {
		case i%10 < 5:
			go pprof.Do(context.Background(), pprof.Labels("wait", "channel"), func(context.Context) { waitsForChannel() })
		case i%10 < 8:
			go waitsForMutex()
		default:
			client, server := connect(l)
			servers = append(servers, server)
			go waitsForNetwork(client)
		}
	}
	ready.Wait()
	fmt.Println("ready", os.Getpid())
	bufio.NewReader(os.Stdin).ReadByte()
	fmt.Fprintln(os.Stderr, len(servers))
}
