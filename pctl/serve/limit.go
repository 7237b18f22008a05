package serve

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"ptools/internal/procfs"
)

// Limit returns a listener with at most most connections at a time. It closes further ones at once. Each
// connection costs memory and a descriptor, and the sampler needs descriptors, too. A connection that waited to be
// accepted would wait for clients that send nothing.
func (s *Server) Limit(l net.Listener, most int) net.Listener {
	return &limited{Listener: l, most: int64(most), refused: s.metrics.refused, lacking: s.metrics.lacking}
}

// writeBuffer is how many bytes of one connection's answers the kernel buffers. The kernel's own bound is megabytes
// (tcp_wmem).
const writeBuffer = 256 << 10

type limited struct {
	net.Listener
	most             int64
	open             atomic.Int64
	refused, lacking prometheus.Counter
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if procfs.Lacking(err) {
				l.lacking.Inc() // the connection waits, and net/http tries again
			}
			return nil, err
		}
		if l.open.Add(1) <= l.most {
			if t, ok := c.(*net.TCPConn); ok {
				t.SetWriteBuffer(writeBuffer) // if the connection is gone, its next use fails
			}
			return &counted{Conn: c, leave: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
		}
		l.open.Add(-1)
		l.refused.Inc()
		c.Close() // the client sees that
	}
}

// counted is a connection that is counted until it is closed.
type counted struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
