package shell

import (
	"context"
	"strconv"
)

// historyShown is how many commands `history` lists.
const historyShown = 11

// enteredCommand is a command of this run.
type enteredCommand struct {
	Number  int    `json:"number"`
	Command string `json:"command"`
}

func (e enteredCommand) appendText(b []byte, _ colours) []byte {
	return append(strconv.AppendInt(b, int64(e.Number), 10), " - "+e.Command+"\n"...)
}

func runHistory(_ context.Context, s *Shell, _ *arguments) error {
	for i := max(len(s.entered)-historyShown, 0); i < len(s.entered); i++ {
		if err := s.out.emit(enteredCommand{i, s.entered[i]}); err != nil {
			return err
		}
	}
	return nil
}

// runRedo runs a command again. It takes the place of redo in the history, so that a redo never meets a redo unless
// one failed.
func runRedo(ctx context.Context, s *Shell, a *arguments) error {
	if len(a.words) == 0 {
		return s.misused("redo", "the number is missing: `history` shows the numbers")
	}
	n, err := strconv.Atoi(a.word(0))
	if err != nil || n < 0 || n >= len(s.entered) {
		return wrong("Command index out of range", "`history` shows the numbers")
	}
	again := s.entered[n]
	words := splitWords(again)
	if len(words) > 0 && words[0] == "redo" {
		return wrong("No redoing redos", "`history` shows the numbers of other commands")
	}
	s.entered[len(s.entered)-1] = again
	err, cause := s.try(ctx, words)
	if err != nil {
		return s.describe(err, cause)
	}
	return nil
}
