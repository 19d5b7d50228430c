package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// TerminalOf returns a stream, and its file if that is a terminal.
func TerminalOf[T any](stream T) (T, *os.File) {
	f, ok := any(stream).(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || !takesEscapes(f) {
		return stream, nil
	}
	return stream, f
}

// Confirmed returns nil if the operator wants what was announced: by --yes, or by a word that is typed on a terminal.
func Confirmed(cmd *cobra.Command, yes bool, word, purpose string) error {
	if yes {
		return nil
	}
	in, terminal := TerminalOf(cmd.InOrStdin())
	if terminal == nil {
		return errors.New("nothing was changed: add --yes to make the change")
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "Type %s to %s: ", word, purpose); err != nil {
		return err
	}
	if line, _ := bufio.NewReader(in).ReadString('\n'); strings.TrimSpace(line) != word {
		return errors.New("nothing was changed")
	}
	return nil
}
