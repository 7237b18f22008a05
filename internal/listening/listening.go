// Package listening checks the addresses at which the commands serve.
package listening

import (
	"fmt"
	"net"
	"strconv"
)

// Check returns what is wrong with an address, HOST:PORT or :PORT, as what follows the name of a setting.
func Check(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		if n, err := strconv.Atoi(addr); err == nil && n >= 0 && n <= mostPort {
			return fmt.Errorf("wants HOST:PORT or :PORT, not %q: for the port alone :%s", addr, addr)
		}
		return fmt.Errorf("wants HOST:PORT or :PORT, not %q", addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > mostPort {
		return fmt.Errorf("wants a port from 0 to %d, not %q", mostPort, port)
	}
	return nil
}

const mostPort = 65535
