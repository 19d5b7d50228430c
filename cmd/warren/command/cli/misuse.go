package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed94657493/warren/cmd/warren/wording"
)

// UsageError is an invocation that makes no sense.
type UsageError struct {
	cmd *cobra.Command
	err error
}

// Misuse is the error of an invocation of cmd that makes no sense.
func Misuse(cmd *cobra.Command, err error) *UsageError { return &UsageError{cmd, err} }

func (e *UsageError) Error() string {
	if _, ok := errors.AsType[*wording.FileError](e.err); ok {
		return e.text()
	}
	usage := e.cmd.UseLine()
	if e.cmd.HasAvailableSubCommands() && !strings.ContainsRune(e.cmd.Use, ' ') {
		usage = e.cmd.CommandPath() + " COMMAND"
	}
	return fmt.Sprintf("%s\nusage: %s\nsee `%s --help`", e.text(), usage, e.cmd.CommandPath())
}

func (e *UsageError) ExitCode() int { return ExitUsage }

// Before lets a command check its flags before it runs, after the checks that it has already.
func Before(cmd *cobra.Command, check func() error) {
	earlier := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if earlier != nil {
			if err := earlier(cmd, args); err != nil {
				return err
			}
		}
		return check()
	}
}

// text says what is wrong with a flag, or with what else was given.
func (e *UsageError) text() string {
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(e.err, &value):
		return valueText(value)
	case errors.As(e.err, &missing):
		return "--" + missing.GetFlag().Name + " needs a value"
	case errors.As(e.err, &unknown):
		var flags []string
		e.cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		return e.err.Error() + didYouMean("--", unknown.GetSpecifiedName(), flags)
	}
	return wording.Text(e.err)
}

// valueText says why a flag does not take a value.
func valueText(e *pflag.InvalidValueError) string {
	f := e.GetFlag()
	said := fmt.Sprintf("--%s %q ", f.Name, e.GetValue())
	var number *strconv.NumError
	isNumber := errors.As(e, &number)
	switch f.Value.Type() {
	case "bool":
		return said + "is neither true nor false"
	case "duration":
		if isNumber || strings.HasPrefix(e.Unwrap().Error(), "time: ") {
			return said + "is not a duration such as 10s or 5m"
		}
	case "uint8":
		return said + "is not a whole number from 0 to 255"
	case "uint16":
		return said + "is not a whole number from 0 to 65535"
	case "int", "int32", "int64", "uint32", "uint64":
		if isNumber && errors.Is(number, strconv.ErrRange) {
			return said + "is too large or too small"
		}
		return said + "is not a whole number"
	case "float64":
		return said + "is not a number"
	}
	text := wording.Text(e.Unwrap())
	if own, ok := strings.CutPrefix(text, strconv.Quote(e.GetValue())+" "); ok {
		return said + own
	}
	return strings.TrimSuffix(said, " ") + ": " + text
}

// didYouMean is the end of a message about a word that is not known: the known word that is most like it, after a
// prefix, or nothing.
func didYouMean(prefix, word string, known []string) string {
	finder := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range known {
		finder.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	if like := finder.SuggestionsFor(word); len(like) > 0 {
		return fmt.Sprintf("; did you mean %s%s?", prefix, like[0])
	}
	return ""
}
