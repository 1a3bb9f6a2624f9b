//go:build unix

package fetch

import (
	"net"
	"syscall"
)

// alive reports whether an idle TCP connection can be used for a request. The server must not have closed it or
// sent a byte. chatty allows bytes: TLS may send some on its own. A connection that cannot be inspected counts as
// alive.
func alive(conn net.Conn, chatty bool) bool {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	var n int
	var fault error
	err = raw.Read(func(fd uintptr) bool {
		var one [1]byte
		n, _, fault = syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	switch {
	case err != nil:
		return false
	case fault == syscall.EAGAIN || fault == syscall.EINTR:
		return true
	}
	return fault == nil && n > 0 && chatty
}
