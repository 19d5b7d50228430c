package wording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/client"
)

// unhashable is an error that cannot be the key of a map.
type unhashable []error

func (unhashable) Error() string { return "several" }

func TestText(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 2181}
	refused := &net.OpError{Op: "dial", Addr: at, Err: &os.SyscallError{Syscall: "connect",
		Err: syscall.ECONNREFUSED}}
	missing := &fs.PathError{Op: "open", Path: "/a/b", Err: syscall.ENOENT}
	_, number := strconv.Atoi("x")
	connect := &client.Error{Op: "connect", Path: "zk1:2181", Err: fmt.Errorf("%w, since %w",
		context.DeadlineExceeded, fmt.Errorf("client: dial 10.0.0.7:2181: %w", refused))}
	for want, err := range map[string]error{
		"10.0.0.7:2181: connection refused: nothing listens there":           refused,
		"zk1: 10.0.0.7:2181: connection refused: nothing listens there":      fmt.Errorf("zk1: %w", refused),
		"zk1:2181: 10.0.0.7:2181: connection refused: nothing listens there": connect,
		"http://10.0.0.7:2181/c: connection refused: nothing listens there": &url.Error{Op: "Post",
			URL: "http://10.0.0.7:2181/c?q=1", Err: refused},
		"/a/b: there is no such file or directory":           missing,
		"/a/b.old: /a/b: there is no such file or directory": fmt.Errorf("/a/b.old: %w", missing),
		"of /a/b: there is no such file or directory":        fmt.Errorf("wal: of /a/b: %w", missing),
		"line 3: \"x\" is not a number":                      fmt.Errorf("line 3: %w", number),
		"session: it ends too early":                         fmt.Errorf("bench: session: %w", io.EOF),
		"a: the connection was closed without an answer":     fmt.Errorf("bench: session at a: %w", io.EOF),
		"a: no answer in time\nb: it was interrupted": errors.Join(fmt.Errorf("a: %w", context.DeadlineExceeded),
			fmt.Errorf("b: %w", context.Canceled)),
		"several": unhashable{},
		"zk9: the name server does not answer": &net.OpError{Op: "dial", Net: "tcp",
			Err: &net.DNSError{Name: "zk9", Err: "i/o timeout", IsTimeout: true}},
		"10.0.0.7:2181: it refuses the connection by TLS: bad certificate": &net.OpError{Op: "remote error",
			Addr: at, Err: errors.New("tls: bad certificate")},
	} {
		require.Equal(t, want, Text(err))
	}
	require.Equal(t, "connection refused: nothing listens there", About("10.0.0.7:2181", refused))
	require.Equal(t, "there is no such file or directory", About("/a/b", fmt.Errorf("/a/b: %w", missing)))
	require.Equal(t, "is corrupt", About("log.1", errors.New("wal: log.1 is corrupt")))
}

func TestCount(t *testing.T) {
	require.Equal(t, "0 txns", Count(0, "txn"))
	require.Equal(t, "1 txn", Count(int64(1), "txn"))
	require.Equal(t, "2 txns", Count(uint64(2), "txn"))
}
