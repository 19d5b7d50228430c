package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/seed94657493/warren/proto"
)

// AddTimeout adds the flag --timeout, which is never 0: no answer comes in no time, and no wait is without an end.
func AddTimeout(flags *pflag.FlagSet, timeout *time.Duration, usual time.Duration, usage string) {
	*timeout = usual
	flags.Var((*timeoutFlag)(timeout), "timeout", usage)
}

// timeoutFlag is a duration that is more than 0.
type timeoutFlag time.Duration

func (d *timeoutFlag) String() string { return time.Duration(*d).String() }
func (d *timeoutFlag) Type() string   { return "duration" }

func (d *timeoutFlag) Set(s string) error {
	v, err := time.ParseDuration(s)
	if err != nil {
		return err
	}
	if v <= 0 {
		return errors.New("must be more than 0, such as 10s")
	}
	*d = timeoutFlag(v)
	return nil
}

// AddOutput adds the flag --output: the usual form, such as simple or table, or json, or one of others. These are the
// forms of ZooKeeper's tools, which an error does not mention.
func AddOutput(flags *pflag.FlagSet, output *string, usual, usage string, others ...string) {
	*output = usual
	flags.Var(&outputFlag{output, append([]string{usual, "json"}, others...)}, "output", usage)
}

// outputFlag is a word that is known.
type outputFlag struct {
	word  *string
	known []string
}

func (f *outputFlag) String() string { return *f.word }
func (f *outputFlag) Type() string   { return "string" }

func (f *outputFlag) Set(s string) error {
	if !slices.Contains(f.known, s) {
		return fmt.Errorf("it must be %s or %s", f.known[0], f.known[1])
	}
	*f.word = s
	return nil
}

// ZxidFlag is a flag that holds a zxid, decimal or hex with 0x.
type ZxidFlag struct{ Zxid proto.Zxid }

// String returns "" for 0, so that help names no default.
func (f *ZxidFlag) String() string {
	if f.Zxid == 0 {
		return ""
	}
	return f.Zxid.String()
}

func (f *ZxidFlag) Type() string { return "zxid" }

func (f *ZxidFlag) Set(s string) error {
	v, err := strconv.ParseInt(s, 0, 64)
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a zxid such as 0x100000002", s)
	}
	f.Zxid = proto.Zxid(v)
	return nil
}

// DurationFlag is a duration in Go's syntax, or a number of milliseconds as zkCli.sh has it.
type DurationFlag time.Duration

func (d *DurationFlag) String() string { return time.Duration(*d).String() }
func (d *DurationFlag) Type() string   { return "duration" }

func (d *DurationFlag) Set(s string) error {
	if ms, err := strconv.Atoi(s); err == nil && ms > 0 {
		*d = DurationFlag(time.Duration(ms) * time.Millisecond)
		return nil
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < time.Millisecond {
		return fmt.Errorf("%q is neither milliseconds nor a duration such as 10s", s)
	}
	*d = DurationFlag(v)
	return nil
}
