package servers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/wording"
)

// adminPorts is how commands ask the admin ports of several servers for records with lists.
type adminPorts struct {
	reach.ClientTLS
	servers   []string
	adminPort int
	authFile  string
	limit     int
	output    string
	timeout   time.Duration
}

// listMax is how many entries of a list a server gives at most.
const listMax = 1000

// addTo adds the flags. limit is how many entries are shown without --limit, and entries says what they are.
func (o *adminPorts) addTo(cmd *cobra.Command, limit int, entries string) {
	flags := cmd.Flags()
	reach.AddServers(flags, &o.servers)
	o.ClientTLS.AddTo(cmd)
	reach.AddAdminPort(flags, &o.adminPort)
	reach.AddAuthFile(cmd, &o.authFile)
	flags.IntVarP(&o.limit, "limit", "n", limit, "how many "+entries+" are shown")
	cli.AddOutput(flags, &o.output, "table", "table or json")
	cli.AddTimeout(flags, &o.timeout, 3*time.Second, "how long to wait for a server")
}

// check refuses flags that make no sense, and takes the servers from the arguments.
func (o *adminPorts) check(cmd *cobra.Command, args []string) error {
	if o.limit < 1 || o.limit > listMax {
		return cli.Misuse(cmd, fmt.Errorf("--limit %d: it must be from 1 to %d", o.limit, listMax))
	}
	return reach.NamedServers(cmd, &o.servers, args)
}

// answer is what one server has said: a record, or why there is none.
type answer[R any] struct {
	address string
	problem string
	err     error // the same
	record  R
}

// askEach asks all servers for a path at the same time. check says why a record is of no use.
func askEach[R any](ctx context.Context, o *adminPorts, path string, check func(*R) error) ([]answer[R], error) {
	authorization, err := reach.Authorization(o.authFile)
	if err != nil {
		return nil, err
	}
	all := make([]answer[R], len(o.servers))
	var asking sync.WaitGroup
	for i, address := range o.servers {
		asking.Go(func() {
			a := &all[i]
			a.address = address
			port := doctor.AdminPort{Port: o.adminPort, Timeout: o.timeout, TLS: o.Of, Authorization: authorization}
			if port.Port == 0 {
				port.Port = o.AdminPort(ctx, address, o.timeout)
			}
			said, err := port.Get(ctx, address, path)
			if err != nil && o.adminPort == 0 { // the usual port is a guess
				err = cmp.Or(o.Down(ctx, address, o.timeout), err)
			}
			if err == nil {
				err = cmp.Or(decode(said, &a.record), check(&a.record))
			}
			if err != nil {
				a.problem, a.err = wording.About(address, err), err
			}
		})
	}
	asking.Wait()
	return all, nil
}

func decode(said *doctor.AdminAnswer, record any) error {
	var refused struct {
		Error *string `json:"error"`
	}
	switch err := errors.Join(json.Unmarshal(said.Body, &refused), json.Unmarshal(said.Body, record)); {
	case refused.Error != nil && (said.Code == http.StatusUnauthorized || said.Code == http.StatusForbidden):
		return errors.New("the user or the password of --auth-file is wrong, or the user is no super user and lacks " +
			"a permission on /")
	case refused.Error != nil:
		return fmt.Errorf("the admin port answered: %q", *refused.Error)
	case err != nil:
		return fmt.Errorf("the admin port answered %s, and nothing that can be read: is it Warren's?", said.Status)
	}
	return nil
}

// exitOf is the end of a command that has shown answers: it fails if no server has a record.
func exitOf[R any](all []answer[R]) error {
	if slices.ContainsFunc(all, func(a answer[R]) bool { return a.problem == "" }) {
		return nil
	}
	for _, a := range all {
		if do := wording.Advice(a.err); do != "" {
			return errors.New(do)
		}
	}
	return cli.ExitStatus(cli.ExitUnexpected)
}
