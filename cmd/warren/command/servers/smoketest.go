package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
)

// smokeRoot is the znode below which the smoke test works. Source: operations 6.8.
const smokeRoot = "/zk-smoketest"

// smokeOptions are the flags of warren smoketest.
type smokeOptions struct {
	statusOptions // for servers and config
	timeout       cli.DurationFlag
	verbose       bool
	quiet         bool
}

func newSmokeTestCommand() *cobra.Command {
	o := smokeOptions{timeout: cli.DurationFlag(5 * time.Second)}
	cmd := &cobra.Command{
		Use:   "smoketest [HOST:PORT...]",
		Short: "Check that an ensemble works, with a session at every server",
		Long: "Opens a session at each server, creates " + smokeRoot + ", lets each session create an\n" +
			"ephemeral child, lets each server list and watch them all, deletes them one after the other, and\n" +
			"expects every session to see every deletion, in order. The znodes are removed. Servers may be\n" +
			"Warren's or ZooKeeper's. `warren bench latencies` measures the same kinds of requests.\n\n" +
			"The exit code is 0 if all of it works, and 1 otherwise.",
		Example: "  warren smoketest zk1:2181 zk2:2181 zk3:2181\n" +
			"  warren smoketest --config /etc/zookeeper/conf/zoo.cfg",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.addresses(cmd, args); err != nil {
				return err
			}
			s := smoke{tls: &o.ClientTLS, timeout: time.Duration(o.timeout), note: func(string, ...any) {}}
			if o.verbose {
				s.note = func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...) }
			}
			if err := s.run(cmd.Context(), o.servers); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if o.quiet {
				out = io.Discard
			}
			return cli.Printf(out, "Smoke test successful\n")
		},
	}
	flags := cmd.Flags()
	reach.AddServers(flags, &o.servers)
	o.AddTo(cmd)
	flags.StringVar(&o.config, "config", "", "zoo.cfg that names the servers, instead of --servers")
	cli.NotEmpty(cmd, "config")
	flags.Var(&o.timeout, "timeout", "timeout of the sessions and of each step, in milliseconds or as 5s")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "report each step on standard error")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print errors only")
	return cmd
}

// smoke is one run of the test.
type smoke struct {
	tls      *reach.ClientTLS
	timeout  time.Duration
	note     func(format string, args ...any)
	sessions []*smokeSession
}

// smokeSession is the session at one server.
type smokeSession struct {
	*client.Client
	server string
	child  string
	seen   smokeEvents
}

// smokeEvents takes the events of all watches of a session in the order in which they come.
type smokeEvents chan client.Event

// Receive implements client.Receiver. There is room for two events of each watch, the second of which is its end.
func (e smokeEvents) Receive(event client.Event) { e <- event }

func (s *smoke) run(ctx context.Context, servers []string) (err error) {
	defer func() {
		for _, session := range s.sessions {
			err = errors.Join(err, session.Close())
		}
	}()
	for i, server := range servers {
		if err := s.step(ctx, server, "open a session", func(ctx context.Context) error {
			options := []client.Option{client.WithSessionTimeout(s.timeout)}
			secure, err := s.tls.Of(server)
			if err != nil {
				return err
			}
			if secure != nil {
				options = append(options, client.WithTLS(secure))
			}
			c, err := client.Dial(ctx, server, options...)
			if err == nil {
				s.sessions = append(s.sessions, &smokeSession{c, server, fmt.Sprintf("%s/session_%d", smokeRoot, i),
					make(smokeEvents, 2*len(servers))})
			}
			return err
		}); err != nil {
			return err
		}
	}
	return s.work(ctx)
}

// step does one thing at one server, in time.
func (s *smoke) step(ctx context.Context, server, what string, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	s.note("%s: %s", server, what)
	if err := do(ctx); err != nil {
		return fmt.Errorf("smoketest: cannot %s at %s: %w", what, server, err)
	}
	return nil
}

// each does one thing at every server, one after the other.
func (s *smoke) each(
	ctx context.Context, what string, do func(ctx context.Context, session *smokeSession) error,
) error {
	for _, session := range s.sessions {
		if err := s.step(ctx, session.server, what,
			func(ctx context.Context) error { return do(ctx, session) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *smoke) work(ctx context.Context) error {
	first, last := s.sessions[0], s.sessions[len(s.sessions)-1]
	if err := s.step(ctx, first.server, "create "+smokeRoot,
		func(ctx context.Context) error { return prepareSmokeRoot(ctx, first.Client) }); err != nil {
		return err
	}
	if err := s.each(ctx, "create an ephemeral znode", func(ctx context.Context, session *smokeSession) error {
		if err := session.Sync(ctx, smokeRoot); err != nil {
			return err
		}
		_, err := session.Create(ctx, session.child, nil, client.Ephemeral)
		return err
	}); err != nil {
		return err
	}
	if err := s.each(ctx, "list and watch the znodes of all servers", s.watch); err != nil {
		return err
	}
	if err := s.each(ctx, "delete a znode", func(ctx context.Context, session *smokeSession) error {
		return session.Delete(ctx, session.child, -1)
	}); err != nil {
		return err
	}
	if err := s.each(ctx, "see all deletions in order", s.see); err != nil {
		return err
	}
	return s.step(ctx, last.server, "delete "+smokeRoot,
		func(ctx context.Context) error { return last.Delete(ctx, smokeRoot, -1) })
}

// prepareSmokeRoot makes the root, or empties one that another run has left.
func prepareSmokeRoot(ctx context.Context, c *client.Client) error {
	if _, err := c.Create(ctx, smokeRoot, nil, client.Persistent); err == nil ||
		!errors.Is(err, client.ErrNodeExists) {
		return err
	}
	names, _, err := c.Children(ctx, smokeRoot)
	for _, name := range names {
		err = errors.Join(err, c.Delete(ctx, path.Join(smokeRoot, name), -1))
	}
	return err
}

// watch wants a child of each session, and watches them all.
func (s *smoke) watch(ctx context.Context, session *smokeSession) error {
	if err := session.Sync(ctx, smokeRoot); err != nil {
		return err
	}
	names, _, err := session.Children(ctx, smokeRoot)
	if err != nil {
		return err
	}
	if len(names) != len(s.sessions) {
		return fmt.Errorf("it lists only %d of %d znodes", len(names), len(s.sessions))
	}
	for _, other := range s.sessions {
		if _, _, _, err := session.GetW(ctx, other.child, session.seen); err != nil {
			return err
		}
	}
	return nil
}

// see wants the event of each deletion, in the order of the deletions.
func (s *smoke) see(ctx context.Context, session *smokeSession) error {
	for _, other := range s.sessions {
		select {
		case e := <-session.seen:
			if e.Type != client.NodeDeleted || e.Path != other.child {
				return fmt.Errorf("it tells of %v before the deletion of %s", e, other.child)
			}
		case <-ctx.Done():
			return fmt.Errorf("it does not tell of the deletion of %s: %w", other.child, ctx.Err())
		}
	}
	return nil
}
