package command

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// confirmed returns nil if the operator wants what was announced: by --yes, or by a word that is typed on a terminal.
func confirmed(cmd *cobra.Command, yes bool, word, purpose string) error {
	if yes {
		return nil
	}
	in, terminal := terminalOf(cmd.InOrStdin())
	if terminal == nil {
		return errors.New("nothing is changed without --yes")
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "Type %s to %s: ", word, purpose); err != nil {
		return err
	}
	if line, _ := bufio.NewReader(in).ReadString('\n'); strings.TrimSpace(line) != word {
		return errors.New("nothing was changed")
	}
	return nil
}
