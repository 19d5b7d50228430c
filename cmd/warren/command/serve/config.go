package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
)

func newConfigCommand() *cobra.Command {
	return cli.WithCommands(&cobra.Command{
		Use:   "config",
		Short: "Check configuration files",
		Long: "`warren config check` says whether a server would start with a zoo.cfg. To see the settings of\n" +
			"a running server, ask it: `warren 4lw HOST:PORT conf`.",
	}, newConfigCheckCommand())
}

func newConfigCheckCommand() *cobra.Command {
	var (
		output string
		set    []string
	)
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Report every problem of a zoo.cfg, and what ZooKeeper would read differently",
		Long: "Reads a zoo.cfg, the files that it names and the environment as `warren server FILE` would, and\n" +
			"reports every problem with its line and rule, every warning, and every place where ZooKeeper would\n" +
			"read the file differently. If the file is right, it opens the key stores and the JAAS file, and\n" +
			"looks for the directories and addresses on this machine, as the server does when it starts: run it\n" +
			"on the server's machine, as the server's user. The server may be running. The exit code is the one\n" +
			"that the server would exit with, or 0. Nothing is changed and nothing is started.",
		Example: "  warren config check /etc/zookeeper/conf/zoo.cfg\n" +
			"  sudo -u zookeeper warren config check zoo.cfg -D admin.serverPort=8081 --output json",
		Args: cli.Named("name a zoo.cfg"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := config.Check(args[0], set, os.Environ())
			problems := StartProblems(r)
			if err := printConfigReport(cmd.OutOrStdout(), output, args[0], r, problems); err != nil {
				return err
			}
			if len(problems) > 0 {
				return &configInvalid{args[0], problems}
			}
			return nil
		},
	}
	cli.AddOutput(cmd.Flags(), &output, "simple", "simple: text; json: one object")
	cmd.Flags().StringArrayVarP(&set, "set", "D", nil, "any key of zoo.cfg, as `KEY=VALUE`, as for warren server")
	return cmd
}

// configInvalid is a file with problems, which have been printed.
type configInvalid struct {
	file     string
	problems []error
}

func (e *configInvalid) Error() string {
	return fmt.Sprintf("%s: a server would not start: %s", e.file, wording.Count(len(e.problems), "problem"))
}

// ExitCode is that of the server: 2 if anything has that.
func (e *configInvalid) ExitCode() int {
	for _, err := range e.problems {
		if cli.ExitCode(err) == cli.ExitUsage {
			return cli.ExitUsage
		}
	}
	return cli.ExitCode(e.problems[0])
}

// StartProblems is everything that would keep a server of a configuration from starting here: what is wrong with the
// files or, if nothing is, what the machine lacks.
func StartProblems(r config.Report) (all []error) {
	if r.Config != nil {
		return server.Preflight(r.Config)
	}
	return r.Problems.Unwrap()
}

// finding is a problem, a warning or a difference as it is printed.
type finding struct {
	Kind  string `json:"kind"`
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	Key   string `json:"key,omitempty"`
	Value string `json:"value,omitempty"`
	Rule  string `json:"rule"`
	text  string
}

func printConfigReport(w io.Writer, output, file string, r config.Report, problems []error) error {
	findings := []finding{}
	for _, err := range problems {
		p, ok := errors.AsType[*config.Problem](err)
		if !ok {
			p = &config.Problem{Rule: wording.Text(err)}
		}
		findings = append(findings, finding{"problem", p.File, p.Line, p.Key, p.Value, p.Rule, p.Error()})
	}
	for _, x := range r.Warnings {
		findings = append(findings, finding{"warning", x.File, x.Line, x.Key, "", x.Text, x.String()})
	}
	for _, x := range r.Differences {
		findings = append(findings, finding{"difference", x.File, x.Line, x.Key, "", x.Text, x.String()})
	}
	if output == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(map[string]any{"file": file, "ok": len(problems) == 0, "findings": findings})
	}
	for _, f := range findings {
		if _, err := fmt.Fprintf(w, "%-10s  %s\n", f.Kind, f.text); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return nil
	}
	role := "standalone"
	if r.Config.Distributed() {
		role = fmt.Sprintf("server %d of an ensemble of %d", r.Config.ServerID, len(r.Config.Members))
	}
	return cli.Printf(w, "ok          %s: %s, data in %s\n", file, role, r.Config.DataDir)
}
