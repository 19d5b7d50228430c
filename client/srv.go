package client

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
)

// srvPrefix begins a connect string that names a service, "dns-srv://NAME/chroot": the SRV records of NAME are the
// servers. It is that of ZooKeeper 3.10. Source: ConnectStringParser.
const srvPrefix = "dns-srv://"

// srvServers is the number of servers that a service is taken to have before its records are known.
const srvServers = 3

// lookUpSRV asks the resolver of package net for the SRV records of a name as it is, for example
// "_zookeeper._tcp.example.com".
func lookUpSRV(ctx context.Context, name string) ([]*net.SRV, error) {
	_, records, err := net.DefaultResolver.LookupSRV(ctx, "", "", name)
	if len(records) > 0 {
		return records, nil // the error is about records that have been left out, because their target is no name
	}
	return nil, err
}

var errNoServers = errors.New("no SRV record names a host and a port")

// inOrder returns host:port of SRV records in the order in which they are tried: those with the lowest priority first,
// and among equal ones at random, those with a high weight rather early. Source: RFC 2782.
func inOrder(records []*net.SRV) ([]string, error) {
	type candidate struct {
		server   string
		priority uint16
		key      float64
	}
	var all []candidate
	for _, r := range records {
		if r == nil || r.Port == 0 || strings.Trim(r.Target, ".") == "" {
			continue // a target "." says that the service is not there
		}
		// The smallest of exponentially distributed numbers is one with the rate w in w of all cases. A weight of 0
		// is chosen rarely, but is chosen.
		key := rand.ExpFloat64() / (float64(r.Weight) + 0.01)
		all = append(all, candidate{net.JoinHostPort(r.Target, strconv.Itoa(int(r.Port))), r.Priority, key})
	}
	if len(all) == 0 {
		return nil, errNoServers
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.key, b.key))
	})
	var list []string
	for _, c := range all {
		if !slices.Contains(list, c.server) {
			list = append(list, c.server)
		}
	}
	return list, nil
}

// newRecords returns the names whose answers are the servers of services.
func newRecords(life context.Context, lookup func(context.Context, string) ([]*net.SRV, error)) *names {
	return newNames(life, func(ctx context.Context, name string) ([]string, error) {
		records, err := lookup(ctx, name)
		if err != nil {
			return nil, err
		}
		return inOrder(records)
	})
}
