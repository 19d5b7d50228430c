package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/doctor"
)

// steering is how commands that steer a running server reach it: the commands of its admin server.
type steering struct {
	reach.ClientTLS
	server   string // its client port
	admin    string // the URL of its admin commands; empty until it is found
	authFile string
	timeout  time.Duration
}

// addTo adds the flags, of which one names the server.
func (o *steering) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.server, "server", "s", reach.LocalServer,
		"host:port of the server's client port, through which its admin port is found")
	flags.StringVar(&o.admin, "admin", "",
		"host:port of the server's admin server, or the URL of its commands, instead of --server")
	cli.Before(cmd, func() (err error) {
		if flags.Changed("server") && flags.Changed("admin") {
			return cli.Misuse(cmd, errors.New("use either --server or --admin"))
		}
		if o.admin != "" {
			o.admin, err = reach.AdminURL(cmd, o.admin)
		} else {
			o.server, err = reach.Address(cmd, o.server)
		}
		return err
	})
	o.addCommonTo(cmd)
}

// addCommonTo adds the flags that do not name a server.
func (o *steering) addCommonTo(cmd *cobra.Command) {
	reach.AddAuthFile(cmd, &o.authFile)
	cli.AddTimeout(cmd.Flags(), &o.timeout, 30*time.Second, "how long one answer may take")
	o.ClientTLS.AddTo(cmd)
}

// find finds the commands of the admin server, unless they are known.
func (o *steering) find(ctx context.Context) (err error) {
	if o.admin == "" {
		o.admin, err = o.AdminCommands(ctx, o.server, o.timeout)
	}
	return err
}

// errNotYet is the answer to an order that comes too soon after the one before.
var errNotYet = errors.New("asked too often")

// ask sends a request to a command and decodes its answer. An order that comes too soon after the one before waits for
// its turn.
func (o *steering) ask(ctx context.Context, command string, request, answer any) error {
	authorization, err := reach.Authorization(o.authFile)
	if err != nil {
		return err
	}
	if err := o.find(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	for {
		pause, err := o.askOnce(ctx, authorization, command, request, answer)
		if !errors.Is(err, errNotYet) {
			return err
		}
		if deadline, _ := ctx.Deadline(); time.Until(deadline) < pause {
			return err
		}
		if cli.Pause(ctx, pause) != nil {
			return err
		}
	}
}

// askOnce sends a request once. If it is to be sent again later, the error is errNotYet, and pause is how much later.
func (o *steering) askOnce(
	ctx context.Context, authorization, command string, request, answer any,
) (pause time.Duration, err error) {
	at, err := url.Parse(o.admin)
	if err != nil {
		return 0, err
	}
	body, err := json.Marshal(request)
	if err != nil {
		return 0, err
	}
	secure, err := o.Of(at.Host)
	if err != nil {
		return 0, err
	}
	resp, err := doctor.AskURL(ctx, http.MethodPost, at.JoinPath(command).String(), body, authorization, secure)
	if err != nil {
		return 0, err
	}
	var outcome struct {
		Error *string `json:"error"`
	}
	err = json.Unmarshal(resp.Body, &outcome)
	switch {
	case resp.Code == http.StatusTooManyRequests && resp.Header.Get("Retry-After") != "":
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return time.Duration(max(seconds, 1)) * time.Second, fmt.Errorf("%s: %w", o.admin, errNotYet)
	case resp.Code == http.StatusUnauthorized && authorization == "":
		return 0, fmt.Errorf("%s: %s", o.admin, cli.NeedsCredentials)
	case resp.Code == http.StatusUnauthorized || resp.Code == http.StatusForbidden:
		return 0, fmt.Errorf("%s: the user or the password in %s is wrong, or the user is no super user and lacks a "+
			"permission on /", o.admin, o.authFile)
	case err == nil && outcome.Error != nil:
		return 0, fmt.Errorf("%s: %s", o.admin, *outcome.Error)
	case resp.Code == http.StatusNotFound:
		return 0, fmt.Errorf("%s: there are no commands here: the path must be the server's admin.commandURL, "+
			"/commands by default", o.admin)
	case resp.Code != http.StatusOK:
		return 0, fmt.Errorf("%s: %s", o.admin, resp.Status)
	case err != nil:
		return 0, fmt.Errorf("%s: it answered %s, and nothing that can be read: is it the admin port?", o.admin,
			resp.Status)
	}
	return 0, json.Unmarshal(resp.Body, answer)
}
