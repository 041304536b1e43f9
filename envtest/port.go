package envtest

import (
	"fmt"
	"net"
	"strconv"
)

// freePort returns a port of the loopback interface that nobody uses now. The
// system hands ports out in turn, so it stays free long enough, mostly.
func freePort() (int, error) {
	l, err := net.Listen("tcp", loopback(0))
	if err != nil {
		return 0, fmt.Errorf("free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// loopback is the address of a port on this machine.
func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
