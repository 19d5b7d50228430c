// Package hostport reads hosts and ports as users write them: in zoo.cfg, in variables, in connect strings and on
// command lines. All of them take the same hosts: names, IPv4 addresses, and IPv6 addresses with a zone or without,
// which need brackets where a port follows. It asks no name server, holds no state, and any goroutine may call it.
package hostport

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
)

// ErrSyntax is wrapped by all errors of this package.
var ErrSyntax = errors.New("is neither a host nor host:port")

// Host reads a host that stands alone, and returns it without brackets. It does not say whether a name is one.
func Host(text string) (string, error) {
	host, port, err := Split(text)
	if err == nil && port != "" {
		err = fmt.Errorf("%q %w: there is a port behind it", text, ErrSyntax)
	}
	return host, err
}

// Split reads HOST or HOST:PORT, and returns the host without brackets. port is empty if there is none, and else a
// number from 0 to 65535. An IPv6 address without brackets has no port. The host may be empty.
func Split(text string) (host, port string, err error) {
	if isIPv6(text) {
		return text, "", nil
	}
	fields, err := Fields(text)
	switch {
	case err != nil:
		return "", "", err
	case len(fields) == 1:
		return fields[0], "", nil
	case len(fields) > 2:
		return "", "", fmt.Errorf("%q %w: an IPv6 address needs brackets", text, ErrSyntax)
	case fields[1] == "":
		return "", "", fmt.Errorf("%q %w: the port is missing", text, ErrSyntax)
	case !isPort(fields[1]):
		return "", "", fmt.Errorf("%q %w: the port is not a number from 0 to %d", text, ErrSyntax, math.MaxUint16)
	}
	return fields[0], fields[1], nil
}

func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// Complete returns HOST:PORT, with this port if the text has none.
func Complete(text, port string) (string, error) {
	host, own, err := Split(text)
	if err != nil {
		return "", err
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + cmp.Or(own, port), nil
}

// Fields cuts a host and what follows it at the colons outside of brackets: HOST, HOST:FIELD, HOST:FIELD:FIELD... The
// first field is the host without brackets, which an IPv6 address needs.
func Fields(text string) ([]string, error) {
	rest, inBrackets := strings.CutPrefix(text, "[")
	host, after, closed := strings.Cut(rest, "]")
	switch {
	case strings.ContainsAny(after, "[]") || !inBrackets && strings.ContainsAny(text, "[]"):
		return nil, fmt.Errorf("%q %w: brackets are around an IPv6 address", text, ErrSyntax)
	case !inBrackets:
		return strings.Split(text, ":"), nil
	case !closed:
		return nil, fmt.Errorf("%q %w: a bracket is not closed", text, ErrSyntax)
	case !isIPv6(host):
		return nil, fmt.Errorf("%q %w: the brackets are for an IPv6 address", text, ErrSyntax)
	case after == "":
		return []string{host}, nil
	case after[0] != ':':
		return nil, fmt.Errorf("%q %w: no colon after the bracket", text, ErrSyntax)
	}
	return append([]string{host}, strings.Split(after[1:], ":")...), nil
}

// IsAddress reports whether a host is an IP address, with a zone or without, and so needs no name server.
func IsAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// WithoutZone returns a host as certificates name it: the zone of an IPv6 address is a matter of one machine.
func WithoutZone(host string) string {
	if isIPv6(host) {
		host, _, _ = strings.Cut(host, "%")
	}
	return host
}

func isIPv6(text string) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && a.Is6() && !strings.ContainsAny(a.Zone(), "[]")
}
