package server

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/host"
	"github.com/seed94657493/warren/zab/quorum"
)

// resolveTime bounds how long Preflight waits for the address of a name.
const resolveTime = 5 * time.Second

// Preflight returns what would keep a server of this configuration from starting here, beyond what config.Load has
// found: key stores, users, directories, and addresses that this machine does not have. It uses what Start uses,
// changes nothing, and opens no port of the configuration, so that a server may be running with it. Each error has
// the exit code of that start.
func Preflight(cfg *config.Config) (problems []error) {
	s := New(cfg, Options{})
	problems = append(problems, s.ops.checkKeys(), s.front.CheckSecurity(), s.disk.CheckDirs())
	if cfg.Distributed() {
		_, err := s.member.OpenQuorum()
		problems = append(problems, err)
	}
	tried := map[string]bool{}
	for _, l := range cfg.Listens() {
		if tried[l.Key+l.Host] {
			continue
		}
		tried[l.Key+l.Host] = true
		switch addr, err := net.JoinHostPort(l.Host, strconv.Itoa(l.Port)), listenable(l.Host); {
		case err == nil:
		case l.Key != "admin.serverPort":
			problems = append(problems, &BindError{Key: cfg.Named(l.Key), Addr: addr, Err: err})
		case cfg.Given(l.Key): // else the server does without
			problems = append(problems, &AdminError{Key: cfg.Named(l.Key), Addr: addr, Err: err})
		}
	}
	return slices.DeleteFunc(problems, func(err error) bool { return err == nil })
}

// QuorumOf returns which voters of a configuration decide.
func QuorumOf(q *config.Quorum) (*quorum.System, error) {
	system, _, err := host.QuorumOf(q)
	return system, err
}

// listenable returns why no port of a host can be opened here.
func listenable(host string) error {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTime)
	defer cancel()
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok {
			err = op.Err // the rest of the text names port 0
		}
		return err
	}
	return ln.Close()
}
