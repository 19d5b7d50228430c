package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/server/config"
)

// reconfigOptions are the flags of warren reconfig, and what follows from them.
type reconfigOptions struct {
	config    string
	servers   []string
	leaveOnly bool
	wait      time.Duration

	named  bool // servers are given
	wanted *config.Quorum
	image  config.Image
	super  config.Secret // the password of the super user; empty for none
	out    io.Writer
	notes  io.Writer // what is waited for
}

// reconfigPause is the time between two attempts of a change that is not possible yet.
const reconfigPause = 500 * time.Millisecond

func newReconfigCommand() *cobra.Command {
	var o reconfigOptions
	cmd := &cobra.Command{
		Use:   "reconfig [SERVER_LINE...]",
		Short: "Change the servers of a running ensemble to a given list",
		Long: "Compares the servers of an ensemble with the wanted ones, and changes the ensemble one server at a\n" +
			"time: missing servers join once they run and follow the leader, and servers that are not wanted\n" +
			"leave. An ensemble that already has the wanted servers is not changed, so the command is safe to\n" +
			"repeat, even after an interruption. Servers are compared by their ids; those that stay keep their\n" +
			"lines.\n\n" +
			"The wanted servers are those of the arguments, of the zoo.cfg of --config, or of the variables of a\n" +
			"container image (ZOO_SERVERS...). The password of the super user, of scheme digest, is that of\n" +
			"WARREN_SUPER_PASSWORD, or of the file that WARREN_SUPER_PASSWORD_FILE names; with ZOO_ENABLE_AUTH\n" +
			"the session authenticates as ZOO_CLIENT_USER, too. The servers must have reconfigEnabled=true. With\n" +
			"--leave-only no server joins: use it before servers are stopped.",
		Example: "  warren reconfig --config zoo.cfg\n" +
			"  warren reconfig 'server.1=zk1:2888:3888;2181' 'server.2=zk2:2888:3888;2181' " +
			"'server.3=zk3:2888:3888;2181'\n" +
			"  ALLOW_ANONYMOUS_LOGIN=yes ZOO_SERVERS='zk-0:2888:3888::1 zk-1:2888:3888::2' " +
			"warren reconfig --leave-only",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.out, o.notes, o.named = cmd.OutOrStdout(), cmd.ErrOrStderr(), cmd.Flags().Changed("servers")
			if err := o.read(args); err != nil {
				return cli.Misuse(cmd, err)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), o.wait)
			defer cancel()
			return o.run(ctx)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.config, "config", "", "zoo.cfg with the wanted servers")
	flags.StringSliceVarP(&o.servers, "servers", "s", nil,
		"host:port of the client ports to connect to (default those of the wanted servers)")
	flags.BoolVar(&o.leaveOnly, "leave-only", false, "let servers leave, but let none join")
	flags.DurationVar(&o.wait, "wait", time.Minute, "how long to try")
	return cmd
}

// read finds out which servers are wanted.
func (o *reconfigOptions) read(args []string) (err error) {
	env := os.Environ()
	o.image = config.NewImage(env)
	if o.super, err = config.SuperPassword(env); err != nil {
		return err
	}
	switch {
	case len(args) > 0 && o.config != "":
		return errors.New("name the servers as arguments or with --config, not both")
	case len(args) > 0:
		if o.wanted, err = config.ParseMembers([]byte(strings.Join(args, "\n"))); err != nil {
			return err
		}
	case o.config != "":
		cfg, err := config.LoadServers(o.config)
		if err != nil {
			return err
		}
		o.wanted = &cfg.Quorum
	case o.image.File != "":
		if err := o.image.Err(); err != nil {
			return err
		}
		cfg, _, err := config.Parse(strings.NewReader(o.image.Text), o.image.File)
		if err != nil {
			return err
		}
		o.wanted = &cfg.Quorum
	}
	if o.wanted == nil || len(o.wanted.Members) == 0 {
		return errors.New("name the wanted servers: as arguments, with --config or in ZOO_SERVERS")
	}
	for i := range o.wanted.Members {
		if address := o.wanted.Members[i].ClientAddress(config.PortUnset); address == "" {
			return fmt.Errorf("the line of server %d has no client port: add it at the end, as in ;2181",
				o.wanted.Members[i].ID)
		} else if !o.named {
			o.servers = append(o.servers, address)
		}
	}
	return nil
}

// run changes the ensemble until it has the wanted servers.
func (o *reconfigOptions) run(ctx context.Context) error {
	var options []client.Option
	if o.super != "" {
		options = append(options, client.WithAuth("digest", []byte("super:"+string(o.super))))
	}
	if o.image.ClientUser != "" {
		options = append(options,
			client.WithSASL(client.DigestMD5(o.image.ClientUser, string(o.image.ClientPassword))))
	}
	cl, err := client.Dial(ctx, strings.Join(o.servers, ","), options...)
	if err != nil {
		return err
	}
	defer cl.Close()
	for said := ""; ; {
		done, err := o.step(ctx, cl)
		switch {
		case done:
			return nil
		case err == nil:
			continue
		case !o.mayPass(err):
			return err
		}
		if reason := err.Error(); reason != said {
			fmt.Fprintln(o.notes, "waiting: "+reason)
			said = reason
		}
		if cli.Pause(ctx, reconfigPause) != nil {
			return fmt.Errorf("the ensemble could not be changed within %v: %w", o.wait, err)
		}
	}
}

// errNotThere is a server that is to join and does not run yet.
var errNotThere = errors.New("does not follow the leader yet")

// mayPass reports whether a change that failed may succeed later. Before servers are stopped reconfig must be
// enabled; afterwards the rolling update may enable it, and bring a super user. A client that names no user has no
// right to reconfigure, however long it waits.
func (o *reconfigOptions) mayPass(err error) bool {
	passing := []error{errNotThere, client.ErrConnectionLoss, client.ErrThrottled, client.ErrReconfigInProgress,
		client.ErrNewConfigNoQuorum, client.ErrBadVersion}
	if !o.leaveOnly {
		passing = append(passing, client.ErrReconfigDisabled)
		if o.super != "" || o.image.ClientUser != "" {
			passing = append(passing, client.ErrNoAuth)
		}
	}
	return slices.ContainsFunc(passing, func(p error) bool { return errors.Is(err, p) })
}

// step makes one change, or finds that none is left.
func (o *reconfigOptions) step(ctx context.Context, cl *client.Client) (done bool, err error) {
	text, _, err := cl.Config(ctx)
	if err != nil {
		return false, err
	}
	current, err := config.ParseMembers(text)
	if err != nil {
		return false, err
	}
	join, leave, err := o.difference(current)
	if err != nil {
		return false, err
	}
	change := client.Reconfig{FromVersion: current.ConfigVersion}
	var what string
	switch {
	case join != nil:
		address := join.ClientAddress(config.PortUnset)
		role, err := (&healthOptions{timeout: 3 * time.Second}).askOnce(ctx, address)
		if err != nil || role != "follower" && role != "observer" {
			said := role
			if err != nil {
				said = wording.About(address, err)
			}
			return false, fmt.Errorf("server %d at %s %w (%s)", join.ID, address, errNotThere, said)
		}
		what, change.Join = fmt.Sprintf("server %d has joined", join.ID), fmt.Sprintf("server.%d=%s", join.ID, join)
	case leave != nil:
		what, change.Leave = fmt.Sprintf("server %d has left", leave.ID), strconv.FormatInt(leave.ID, 10)
	default:
		_, err := fmt.Fprintf(o.out, "the ensemble has the servers %s, version %x\n", ids(current),
			current.ConfigVersion)
		return true, err
	}
	if text, _, err = cl.Reconfig(ctx, change); err != nil {
		return false, explained(err)
	}
	next, err := config.ParseMembers(text)
	if err == nil {
		_, err = fmt.Fprintf(o.out, "%s, version %x\n", what, next.ConfigVersion)
	}
	return false, err
}

// difference returns a server that is to join, or one that is to leave, the last one first. Servers join first, so
// that the ensemble does not become smaller than it has to be.
func (o *reconfigOptions) difference(current *config.Quorum) (join, leave *config.Member, err error) {
	stays := 0
	for i := range o.wanted.Members {
		if current.Member(o.wanted.Members[i].ID) != nil {
			stays++
		} else if join == nil && !o.leaveOnly {
			join = &o.wanted.Members[i]
		}
	}
	if len(current.Members) == 0 && o.leaveOnly {
		return nil, nil, nil // a server alone, from which none can leave
	}
	if stays == 0 {
		return nil, nil, fmt.Errorf("the ensemble has the servers %s, of which none is among the wanted ones, %s: "+
			"it is another ensemble, or a server alone",
			ids(current), ids(o.wanted))
	}
	for i := range slices.Backward(current.Members) {
		if o.wanted.Member(current.Members[i].ID) == nil {
			return join, &current.Members[i], nil
		}
	}
	return join, nil, nil
}

// ids are the ids of the servers of an ensemble, "1, 2, 3".
func ids(q *config.Quorum) string {
	var all []string
	for i := range q.Members {
		all = append(all, strconv.FormatInt(q.Members[i].ID, 10))
	}
	return strings.Join(all, ", ")
}

// explained adds what to do about a refusal.
func explained(err error) error {
	switch {
	case errors.Is(err, client.ErrReconfigDisabled):
		return fmt.Errorf("%w: the servers need reconfigEnabled=true before their number changes", err)
	case errors.Is(err, client.ErrNoAuth):
		return fmt.Errorf("%w: set WARREN_SUPER_PASSWORD, or WARREN_SUPER_PASSWORD_FILE, to the password of the "+
			"servers' super user", err)
	}
	return err
}
