package command

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/datatree/auth"
)

func newDigestCommand() *cobra.Command {
	var algorithm string
	cmd := &cobra.Command{
		Use:   "digest [USER:PASSWORD...]",
		Short: "Print the ACL id of a user and a password (scheme digest)",
		Long: "Prints USER:PASSWORD->USER:HASH, as the main class of ZooKeeper's DigestAuthenticationProvider " +
			"does.\nThe part after the arrow is what an ACL names; for the user super it is the value of\n" +
			"DigestAuthenticationProvider.superDigest. Without arguments it reads lines USER:PASSWORD from\n" +
			"standard input and prints only the part after the arrow. Prefer that: every user of the machine " +
			"can\nsee arguments.",
		Example: "  warren digest super:secret\n  warren digest < passwords",
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			for _, a := range args {
				id, err := digestOf(algorithm, a)
				if err != nil {
					return cli.Misuse(cmd, err)
				}
				if _, err := fmt.Fprintf(out, "%s->%s\n", a, id); err != nil {
					return err
				}
			}
			if len(args) > 0 {
				return nil
			}
			in, terminal := cli.TerminalOf(cmd.InOrStdin())
			if terminal != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "Type USER:PASSWORD and press Enter; Ctrl-D ends.")
			}
			lines := bufio.NewScanner(in)
			read := false
			for lines.Scan() {
				read = true
				id, err := digestOf(algorithm, lines.Text())
				if err != nil {
					return cli.Misuse(cmd, err)
				}
				if _, err := fmt.Fprintln(out, id); err != nil {
					return err
				}
			}
			if err := lines.Err(); err != nil || read {
				return err
			}
			return cli.Misuse(cmd, errors.New("no USER:PASSWORD is given, and standard input is empty"))
		},
	}
	cmd.Flags().StringVar(&algorithm, "algorithm", "SHA1", "hash, as in DigestAuthenticationProvider.digestAlg")
	return cmd
}

// digestOf returns the id. Errors do not show the password.
func digestOf(algorithm, credentials string) (string, error) {
	if !strings.Contains(credentials, ":") {
		return "", errors.New("credentials must have the form USER:PASSWORD")
	}
	id, ok := auth.DigestID(algorithm, []byte(credentials))
	if !ok {
		return "", fmt.Errorf("--algorithm %q: it must be MD5, SHA1, SHA-224, SHA-256, SHA-384 or SHA-512", algorithm)
	}
	return id, nil
}
