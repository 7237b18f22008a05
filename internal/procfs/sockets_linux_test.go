package procfs

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// nameOfSocket returns the name of a socket of this process.
func nameOfSocket(t *testing.T, c syscall.Conn) string {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	raw.Control(func(fd uintptr) { name, err = FileName(os.Getpid(), int(fd)) })
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// TestSockets: both ends of connections of this process are found, and listening sockets.
func TestSockets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for _, tt := range []struct{ network, addr, kind string }{
		{"tcp", "127.0.0.1:0", "tcp"}, {"tcp", "[::1]:0", "tcp"}, {"unix", path, "unix"}, {"unix", "@ptools-test-" + strconv.Itoa(os.Getpid()), "unix"},
	} {
		t.Run(tt.network+tt.addr, func(t *testing.T) {
			l, err := net.Listen(tt.network, tt.addr)
			if err != nil {
				t.Skip(err) // no IPv6
			}
			defer l.Close()
			client, err := net.Dial(tt.network, l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			server, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			var s Sockets
			there, here := nameOfSocket(t, server.(syscall.Conn)), nameOfSocket(t, client.(syscall.Conn))
			e := s.End(os.Getpid(), here)
			if e.Kind != tt.kind || e.Listening || fmt.Sprintf("socket:[%d]", e.Peer) != there || tt.kind == "tcp" && e.Remote != l.Addr().String() {
				t.Errorf("%s, connected to %s: %+v", here, there, e)
			}
			e = s.End(os.Getpid(), nameOfSocket(t, l.(syscall.Conn)))
			if e.Kind != tt.kind || !e.Listening || e.Local != l.Addr().String() || e.Peer != 0 {
				t.Errorf("listening at %v: %+v", l.Addr(), e)
			}
		})
	}
	var s Sockets
	if e := s.End(os.Getpid(), "socket:[1]"); e != (SocketEnd{}) {
		t.Errorf("of no socket: %+v", e)
	}
	if e := s.End(os.Getpid(), "anon_inode:[eventpoll]"); e != (SocketEnd{}) {
		t.Errorf("of no socket: %+v", e)
	}
}

// FuzzParseNet: no text is too strange for it.
func FuzzParseNet(f *testing.F) {
	f.Add("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 3761 1 0000000000000000 100 0 0 10 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, l := range parseNet("tcp", text) {
			if !l.local.Addr().IsValid() || !strings.Contains(text, strconv.FormatUint(l.inode, 10)) && l.inode != 0 {
				t.Errorf("%+v", l)
			}
		}
	})
}

// FuzzParseUnixDiag: no answer is too strange for it.
func FuzzParseUnixDiag(f *testing.F) {
	f.Add(make([]byte, 64), uint32(0))
	f.Fuzz(func(t *testing.T, b []byte, inode uint32) { parseUnixDiag(b, inode) })
}
