package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// RefreshUsual is how often warren top and warren status --watch look again.
const RefreshUsual = 2 * time.Second

// Repeat writes what show gives, again and again, until the command is interrupted; then it returns the last error of
// show. On a terminal each time begins with an empty screen, elsewhere an empty line parts the times.
func Repeat(cmd *cobra.Command, every time.Duration, show func(io.Writer) error) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd.SetContext(ctx)
	out := cmd.OutOrStdout()
	between := "\n"
	if _, f := TerminalOf(out); f != nil {
		between = "\x1b[H\x1b[2J" // to the corner, and clear the screen
	}
	var last error
	for first := true; ; first = false {
		var screen bytes.Buffer
		if between != "\n" || !first {
			screen.WriteString(between)
		}
		err := show(&screen)
		if ctx.Err() != nil {
			return last // what was asked when the interrupt came has no answers
		}
		last = err
		if _, err := screen.WriteTo(out); err != nil {
			return err
		}
		if Pause(ctx, every) != nil {
			return last
		}
	}
}

// Pause waits, and returns the error of ctx if that ends first.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
