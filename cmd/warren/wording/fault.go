package wording

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/seed94657493/warren/client"
)

// fault is an error that Go or the operating system has worded.
type fault struct {
	raw     string // its text
	subject string // what it is about; empty if it does not say
	host    string // host:port of a subject that is a URL, which names it as well
	words   string
}

// faultsIn returns the faults in the tree of an error, in its order, without what is below them.
func faultsIn(err error) []fault {
	if f, ok := faultOf(err); ok {
		f.raw = err.Error()
		return []fault{f}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return faultsIn(inner)
		}
	case interface{ Unwrap() []error }:
		var all []fault
		for _, inner := range e.Unwrap() {
			all = append(all, faultsIn(inner)...)
		}
		return all
	}
	return nil
}

// ClosedEarly is said of connections that the other side closes, by more than one error.
const ClosedEarly = "the connection was closed without an answer"

// noAnswer is said of connections, by more than one error.
const noAnswer = "no answer in time"

// faultOf returns what an error itself is, without looking for one below it.
func faultOf(err error) (fault, bool) {
	switch e := err.(type) {
	case *client.Error:
		return connectFault(e)
	case *url.Error:
		return urlFault(e), true
	case *net.OpError:
		return networkFault(e), true
	case *net.DNSError:
		return nameFault(e), true
	case *net.AddrError:
		return fault{subject: e.Addr, words: e.Err}, true
	case *fs.PathError:
		return fault{subject: e.Path, words: reason(e.Err)}, true
	case *os.LinkError:
		return fault{subject: e.New, words: reason(e.Err)}, true
	case *os.SyscallError:
		return fault{words: reason(e.Err)}, true
	case *strconv.NumError:
		if errors.Is(e, strconv.ErrRange) {
			return fault{words: fmt.Sprintf("%q is too large or too small", e.Num)}, true
		}
		return fault{words: fmt.Sprintf("%q is not a number", e.Num)}, true
	case *json.SyntaxError, *json.UnmarshalTypeError:
		return fault{words: "this is not the JSON that is expected"}, true
	case *tls.CertificateVerificationError:
		return fault{words: "its certificate is refused: " + strings.TrimPrefix(e.Err.Error(), "x509: ")}, true
	case x509.UnknownAuthorityError, x509.HostnameError, x509.CertificateInvalidError:
		return fault{words: "its certificate is refused: " + strings.TrimPrefix(e.Error(), "x509: ")}, true
	case tls.RecordHeaderError:
		return fault{words: "it answers without TLS"}, true
	case syscall.Errno:
		words, ok := systemWords[e]
		return fault{words: words}, ok
	}
	switch err { // not a map: some errors cannot be keys
	case context.DeadlineExceeded, os.ErrDeadlineExceeded, net.ErrClosed: // closed when the time was over
		return fault{words: noAnswer}, true
	case context.Canceled:
		return fault{words: "it was interrupted"}, true
	case io.EOF, io.ErrUnexpectedEOF:
		return fault{words: "it ends too early"}, true
	case http.ErrSchemeMismatch:
		return fault{words: "it answers without TLS"}, true
	case client.ErrProtocol:
		return fault{words: "what answers is no ZooKeeper server, or a proxy changes bytes"}, true
	}
	return fault{}, false
}

// systemWords are the errors of the operating system that operators meet. The others keep the system's own words.
var systemWords = map[syscall.Errno]string{
	syscall.ENOENT:        "there is no such file or directory",
	syscall.EISDIR:        "it is a directory, not a file",
	syscall.ENOTDIR:       "a part of this path is a file, where a directory is needed",
	syscall.EACCES:        "permission denied",
	syscall.EPERM:         "permission denied",
	syscall.ECONNREFUSED:  "connection refused: nothing listens there",
	syscall.ECONNRESET:    ClosedEarly,
	syscall.EPIPE:         ClosedEarly,
	syscall.EADDRINUSE:    "address already in use",
	syscall.EADDRNOTAVAIL: "this machine does not have that address",
}

// reason returns the words of an error without a subject.
func reason(err error) string {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		if f, ok := faultOf(inner); ok {
			return f.words
		}
	}
	return packages.ReplaceAllString(err.Error(), "$1")
}

// connectFault tells of a client that no server took in time, by the last server's reason if there is one.
func connectFault(e *client.Error) (fault, bool) {
	if e.Op != "connect" {
		return fault{}, false
	}
	return fault{subject: e.Path, words: About(e.Path, lastReason(e))}, true
}

// lastReason is why the last server did not take a client, or that there was no time if none has answered.
func lastReason(e *client.Error) error {
	if both, ok := e.Err.(interface{ Unwrap() []error }); ok {
		all := both.Unwrap()
		return all[len(all)-1]
	}
	return e.Err
}

func urlFault(e *url.Error) fault {
	f := fault{subject: e.URL, words: reason(e.Err)}
	if u, err := url.Parse(e.URL); err == nil {
		u.RawQuery = ""
		f.subject, f.host = u.String(), u.Host
	}
	switch {
	case errors.Is(e.Err, io.EOF), strings.Contains(e.Err.Error(), "server closed idle connection"):
		f.words = ClosedEarly
	case strings.Contains(e.Err.Error(), "malformed HTTP"):
		f.words = "what answers does not speak HTTP: is this an admin port?"
	}
	return f
}

func networkFault(e *net.OpError) fault {
	f := fault{words: reason(e.Err)}
	var name *net.DNSError
	switch {
	case errors.As(e.Err, &name):
		return nameFault(name)
	case e.Op == "remote error": // an alert of TLS
		f.words = "it refuses the connection by TLS: " + f.words
	case e.Op == "dial" && e.Timeout():
		f.words = "no connection in time: the machine or a firewall before it does not answer"
	}
	if e.Addr != nil {
		f.subject = e.Addr.String()
	}
	return f
}

func nameFault(e *net.DNSError) fault {
	f := fault{subject: e.Name, words: "this name has no address"}
	switch {
	case e.IsTimeout:
		f.words = "the name server does not answer"
	case !e.IsNotFound:
		f.words = "the name cannot be looked up: " + e.Err
	}
	return f
}
