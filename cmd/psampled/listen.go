package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strconv"
	"syscall"
	"time"

	"ptools/internal/patience"
)

const (
	// socketMode says that nobody but psampled's own user, and root, may ask.
	socketMode = "0600"
	// mostSocket is how long the path of a socket may be (sockaddr_un.sun_path, with its final zero).
	mostSocket = 107
)

// mode returns the rights of the socket.
func (s *settings) mode() (fs.FileMode, error) {
	n, err := strconv.ParseUint(s.SocketMode, 8, 32)
	if err != nil || n > 0o777 {
		return 0, fmt.Errorf("--socket-mode %q is not an octal number like 0660", s.SocketMode)
	}
	return fs.FileMode(n), nil
}

// checkSocket finds what is wrong with the socket.
func (s *settings) checkSocket() error {
	switch _, err := s.mode(); {
	case err != nil:
		return err
	case s.Socket == "":
		return nil
	case s.Socket[0] == '@':
		return fmt.Errorf("--socket %s: a socket that is no file has no rights; name a file", s.Socket)
	case len(s.Socket) > mostSocket:
		return fmt.Errorf("--socket: a path has at most %d bytes, this one %d", mostSocket, len(s.Socket))
	}
	return nil
}

// listen listens at the socket, or at the address. An address that must be loopback is checked after it was resolved.
func (d *daemon) listen() (net.Listener, error) {
	if d.Socket != "" {
		return d.listenAt()
	}
	l, err := net.Listen("tcp", d.Listen)
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(d.Listen) // check has split it
	if addr, ok := l.Addr().(*net.TCPAddr); ok && isLoopback(host) && !addr.IP.IsLoopback() {
		l.Close()
		return nil, fmt.Errorf("%s is %v here, which is not loopback", host, addr.IP)
	}
	return l, nil
}

// announce says where profiles are served, and to which clients.
func (d *daemon) announce(scheme string, at net.Addr) {
	if d.Socket != "" {
		d.say("%s, served at the socket %s, mode %s", d.processes(), d.Socket, d.SocketMode)
		return
	}
	if d.TokenFile == "" && d.TLS.ClientCA == "" { // so it is loopback
		d.say("every user of this machine may ask; --socket or --token-file where that is too much")
	}
	d.say("%s, served at %s://%s/", d.processes(), scheme, at)
}

// listenAt listens at the socket. One that is left of a psampled that was killed is replaced, one at which a program listens
// is not. The socket is removed at the end.
func (s *settings) listenAt() (net.Listener, error) {
	mode, err := s.mode()
	if err != nil {
		return nil, err
	}
	l, err := bound(s.Socket, mode)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "unix", s.Socket)
	switch {
	case err == nil:
		c.Close()
		return nil, fmt.Errorf("a program serves at %s already", s.Socket)
	case !errors.Is(err, syscall.ECONNREFUSED): // as of a file that is no socket
		return nil, fmt.Errorf("%s is there, and is no socket that can be replaced: %w", s.Socket, err)
	}
	if err := removeSocket(s.Socket); err != nil {
		return nil, err
	}
	return bound(s.Socket, mode)
}

// bound makes a socket that has its rights from the beginning: nobody can connect before they are set. Nothing else makes files
// while the mask is changed.
func bound(path string, mode fs.FileMode) (net.Listener, error) {
	defer syscall.Umask(syscall.Umask(int(0o777 &^ mode)))
	return net.Listen("unix", path)
}

// removeSocket removes a file if it is a socket. connect(2) fails with ECONNREFUSED for other kinds of files too.
func removeSocket(path string) error {
	var st syscall.Stat_t
	_, err := patience.Do(func() (struct{}, error) { return struct{}{}, syscall.Lstat(path, &st) }, func(struct{}) {})
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case st.Mode&syscall.S_IFMT != syscall.S_IFSOCK:
		return fmt.Errorf("%s is there, and is no socket", path)
	}
	return syscall.Unlink(path)
}
