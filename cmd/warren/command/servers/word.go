package servers

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/doctor"
)

// wordOptions are the flags of warren 4lw.
type wordOptions struct {
	timeout time.Duration
	reach.ClientTLS
}

// wordBytesMax bounds the answer to a word: a list of all connections or watches may be long.
const wordBytesMax = 1 << 30

func newWordCommand() *cobra.Command {
	var o wordOptions
	cmd := &cobra.Command{
		Use:   "4lw HOST:PORT WORD",
		Short: "Ask a server a four-letter word, as `echo WORD | nc HOST PORT` does",
		Long: "Sends the four-letter WORD (ruok, srvr, mntr, stat, cons...) to a server and prints the answer\n" +
			"unchanged, as nc would. With --client-configuration, the file that zkCli.sh takes, it speaks TLS\n" +
			"if that file says so.\n\n" +
			"The exit code is 0 if the word was answered, and 1 if there was no answer, the word is not in\n" +
			"4lw.commands.whitelist, or the server is not serving.",
		Example: "  warren 4lw zk1:2181 ruok\n  warren 4lw 127.0.0.1:2181 mntr | grep zk_avg_latency",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 2:
				return cli.Misuse(cmd, errors.New("name a server and a word"))
			case len(args[1]) != 4:
				return cli.Misuse(cmd, notAWord(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0], args[1]) },
	}
	cli.AddTimeout(cmd.Flags(), &o.timeout, 3*time.Second, "how long to wait for the answer")
	o.AddTo(cmd)
	return cmd
}

// notAWord says what is wrong with a second argument that is no word.
func notAWord(args []string) error {
	if len(args[0]) == 4 && strings.Contains(args[1], ":") {
		return fmt.Errorf("the server comes first: %s %s", args[1], args[0])
	}
	return fmt.Errorf("%q is not a four-letter word", args[1])
}

func (o *wordOptions) run(cmd *cobra.Command, address, word string) error {
	address, err := reach.Address(cmd, address)
	if err != nil {
		return err
	}
	secure, err := o.Of(address)
	if err != nil {
		return err
	}
	text, err := doctor.AskWord(cmd.Context(), address, word, o.timeout, secure, wordBytesMax)
	if err == nil && text == "" {
		err = doctor.ErrNoAnswer
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", address, word, err)
	}
	if _, err := fmt.Fprint(cmd.OutOrStdout(), text); err != nil {
		return err
	}
	if strings.HasSuffix(text, "is not executed because it is not in the whitelist.\n") ||
		strings.HasPrefix(text, "This ZooKeeper instance is not currently serving requests") {
		return cli.ExitStatus(cli.ExitUnexpected)
	}
	return nil
}
