package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Report is the result of one run.
type Report struct {
	Load        string         `json:"load"`
	Started     time.Time      `json:"started"`
	Parameters  string         `json:"parameters"`
	Targets     []TargetReport `json:"targets"`
	Comparisons []Comparison   `json:"comparisons,omitempty"` // if there are two targets
}

// TargetReport is what was measured of one target.
type TargetReport struct {
	Name    string   `json:"name"`
	Servers []string `json:"servers"`
	PIDs    []int    `json:"pids,omitempty"`
	Rounds  [][]*Row `json:"rounds"` // one round unless two targets take turns
}

// Run measures a load on one target, or on two that take turns, A B A B, so that both meet the
// same disturbances. It removes what it created even when ctx ends or a measurement fails.
func Run(ctx context.Context, l Load, p Params, targets ...*Target) (report *Report, err error) {
	report = &Report{Load: l.name, Started: time.Now().UTC(), Parameters: p.describe(l)}
	trials := make([]Trial, 0, len(targets))
	defer func() {
		closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		for i, t := range trials {
			if also := t.Close(closeCtx); also != nil && err == nil {
				err = of(targets, i, fmt.Errorf("removing what was created: %w", also))
			}
		}
	}()
	for i, t := range targets {
		trial, err := l.prepare(ctx, t, p)
		if err != nil {
			return nil, of(targets, i, err)
		}
		trials = append(trials, trial)
		report.Targets = append(report.Targets, TargetReport{Name: t.Name, Servers: t.Servers, PIDs: t.PIDs})
	}
	for i, trial := range trials {
		if p.Warmup <= 0 {
			break
		}
		if err := trial.Warm(ctx, p.Warmup); err != nil {
			return nil, of(targets, i, fmt.Errorf("warming up: %w", err))
		}
	}
	rounds, window := p.rounds(trials)
	for range rounds {
		for i, trial := range trials {
			rows, err := trial.Measure(ctx, window)
			if err != nil {
				return nil, of(targets, i, err)
			}
			report.Targets[i].Rounds = append(report.Targets[i].Rounds, rows)
		}
	}
	if len(targets) == 2 {
		report.Comparisons = compare(report.Targets[0].Rounds, report.Targets[1].Rounds)
	}
	return report, nil
}

// of says which target an error is about, if there is another one.
func of(targets []*Target, i int, err error) error {
	if len(targets) == 1 {
		return err
	}
	return fmt.Errorf("target %s (%s): %w", targets[i].Name, strings.Join(targets[i].Servers, ","), err)
}

// rounds returns how often each trial is measured and for how long. One target has one round; two
// take turns by the slice, or --rounds times if the load has an end of its own.
func (p *Params) rounds(trials []Trial) (int, time.Duration) {
	if len(trials) < 2 {
		return 1, p.Duration
	}
	if _, ok := trials[0].(endless); !ok {
		return p.Rounds, p.Duration
	}
	n := max(1, int(math.Round(float64(p.Duration)/float64(p.Slice))))
	return n, p.Duration / time.Duration(n)
}

// describe writes the parameters that have an effect on l, as flags.
func (p *Params) describe(l Load) string {
	var words []string
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	p.Register(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		value := strings.Trim(f.Value.String(), "[]")
		if slices.Contains(l.Flags(), f.Name) && value != "" && value != "false" {
			words = append(words, "--"+f.Name+"="+value)
		}
	})
	return strings.Join(words, " ")
}
