// Goserver answers each request with the hash of 1 MB, at an address that it prints. With -clients N it
// asks the server at -url instead, from N goroutines, until it is killed.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

func main() {
	clients := flag.Int("clients", 0, "ask, from that many goroutines")
	url := flag.String("url", "", "whom")
	flag.Parse()
	if *clients > 0 {
		ask(*clients, *url)
		return
	}
	data := make([]byte, 1<<20)
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "%x\n", sha256.Sum256(data)) })
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("at http://%s/\n", at.Addr())
	log.Fatal(http.Serve(at, nil))
}

// ask runs for ten minutes at most.
func ask(clients int, url string) {
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	client := &http.Client{Transport: transport}
	for range clients {
		go func() { // until the process ends
			for {
				r, err := client.Get(url)
				if err != nil {
					log.Fatal(err)
				}
				io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
		}()
	}
	time.Sleep(10 * time.Minute)
}
