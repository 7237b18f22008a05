package sample_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"ptools/pctl/sample"
)

// A process is profiled for half a second.
func ExampleRun() {
	pid, stop := startSpinning()
	defer stop()

	p, err := sample.Run(context.Background(), pid, &sample.Options{For: 500 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	hottest := p.Functions()[0]
	fmt.Println(hottest.Name, hottest.Self.CPU > p.Total().CPU/2)
	// Output: ptools/pctl/sample_test.spin true
}
