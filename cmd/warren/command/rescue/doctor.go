package rescue

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/wal/vfs"
)

// doctorOptions are the flags of warren doctor.
type doctorOptions struct {
	reach.ClientTLS
	servers    []string
	output     string
	config     string
	dataLogDir string
	member     bool
	noMeasure  bool
	maxFrame   int64
	adminPort  int
	timeout    time.Duration
	maxLag     int64
}

// The exit codes of warren doctor.
const (
	exitWarnings = 1
	exitErrors   = 2
)

func newDoctorCommand() *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [DATA_DIR | HOST:PORT...]",
		Short: "Find out what is wrong with servers or a data directory, and what to do about it",
		Long: "Looks at running servers, at data directories, or, with --config, at a zoo.cfg and the\n" +
			"directories that it names, and prints what is wrong, the most urgent first, with a remedy.\n" +
			"Without arguments it asks 127.0.0.1:2181. Servers may be Warren's or ZooKeeper's. They are asked\n" +
			"with the four-letter words srvr, mntr, conf, cons, hash and envi; all but srvr must be in\n" +
			"4lw.commands.whitelist. A data directory may be in use. Nothing is changed.\n\n" +
			"The exit code is 0 if nothing is wrong, 1 if there are warnings, and 2 if there are errors.",
		Example: "  warren doctor zk1:2181 zk2:2181 zk3:2181\n" +
			"  warren doctor /var/lib/zookeeper\n" +
			"  warren doctor --config /etc/zookeeper/conf/zoo.cfg",
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.servers, "servers", "s", nil, "host:port of the client ports, the same as arguments")
	o.AddTo(cmd)
	cli.AddOutput(flags, &o.output, "table", "table or json")
	flags.StringVar(&o.config, "config", "", "zoo.cfg to check, with the directories and certificates that it names")
	cli.NotEmpty(cmd, "config")
	flags.StringVar(&o.dataLogDir, "dataLogDir", "", "where the log is, if not in DATA_DIR")
	flags.BoolVar(&o.member, "member", false, "DATA_DIR belongs to a member of an ensemble, which needs myid")
	flags.BoolVar(&o.noMeasure, "no-measure", false,
		"do not measure the disk, which writes a small file and removes it")
	flags.Int64Var(&o.maxFrame, "max-frame", 0xfffff, "jute.maxbuffer of the clients, in bytes")
	flags.IntVar(&o.adminPort, "admin-port", 8080,
		"admin port of ZooKeeper servers, asked for their clocks; 0: not asked")
	cli.AddTimeout(flags, &o.timeout, 5*time.Second, "how long to wait for a server")
	flags.Int64Var(&o.maxLag, "max-lag", 10_000, "txns that a server may lag behind its leader")
	return cmd
}

func (o *doctorOptions) run(cmd *cobra.Command, args []string) error {
	var all doctor.Findings
	if o.config != "" {
		all = append(all, o.checkConfig()...)
	}
	servers := o.servers
	if len(servers) > 0 && len(args) > 0 {
		return cli.Misuse(cmd, errors.New("name the servers with --servers or as arguments, not both"))
	}
	var dirs []string
	for _, arg := range args {
		if info, err := os.Stat(arg); err == nil && info.IsDir() {
			dir := filepath.Dir(datadir.FormatDir(filepath.Clean(arg)))
			check := o.directory(dir, cmp.Or(o.dataLogDir, dir), o.member)
			all, dirs = append(all, check.Check()...), append(dirs, dir)
		} else if strings.ContainsRune(arg, '/') {
			return fmt.Errorf("%s is not a directory", arg)
		} else {
			servers = append(servers, strings.Split(arg, ",")...)
		}
	}
	if len(dirs) > 1 {
		all = append(all, doctor.CompareDirectories(vfs.OS(), dirs, o.dataLogDir)...)
	}
	if len(args) == 0 && len(servers) == 0 && o.config == "" {
		servers = []string{reach.LocalServer}
	}
	if len(servers) > 0 {
		if err := reach.NamedServers(cmd, &servers, nil); err != nil {
			return err
		}
		e := doctor.Ensemble{Servers: servers, AdminPort: o.adminPort, Timeout: o.timeout, MaxLag: o.maxLag,
			Now: time.Now, TLS: o.Of}
		all = append(all, e.Check(cmd.Context())...)
	}
	all.Sort()
	if err := printFindings(cmd.OutOrStdout(), o.output, all); err != nil {
		return err
	}
	switch all.Worst() {
	case doctor.Notice:
		return nil
	case doctor.Warning:
		return cli.ExitStatus(exitWarnings)
	}
	return cli.ExitStatus(exitErrors)
}

// directory is a check that is to be made.
func (o *doctorOptions) directory(dataDir, logDir string, member bool) *doctor.Directory {
	return &doctor.Directory{FS: vfs.OS(), DataDir: dataDir, LogDir: logDir, Member: member, MaxFrameBytes: o.maxFrame,
		Mount: mountKind, Measure: !o.noMeasure, Settle: 100 * time.Millisecond, Now: time.Now}
}

// mountKind returns the kind of file system that holds a path, as Linux tells it.
func mountKind(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", err
	}
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer f.Close()
	return kindOf(f, path)
}

// kindOf finds the mount with the longest mount point that path is below, the last one of several.
func kindOf(mountinfo io.Reader, path string) (kind string, err error) {
	longest := -1
	for lines := bufio.NewScanner(mountinfo); lines.Scan(); {
		left, right, ok := strings.Cut(lines.Text(), " - ")
		fields, after := strings.Fields(left), strings.Fields(right)
		if !ok || len(fields) < 5 || len(after) < 1 {
			continue
		}
		point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(fields[4])
		if point != "/" && path != point && !strings.HasPrefix(path, point+"/") {
			continue
		}
		if len(point) >= longest {
			longest, kind = len(point), after[0]
		}
	}
	if longest < 0 {
		return "", errors.New("no mount point holds it")
	}
	return kind, nil
}

func printFindings(w io.Writer, output string, all doctor.Findings) error {
	if output == "json" {
		if all == nil {
			all = doctor.Findings{}
		}
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"worst": all.Worst(), "findings": all})
	}
	var out strings.Builder
	for _, f := range all {
		fmt.Fprintf(&out, "%-8s  %-22s  %s\n%36s%s\n", f.Severity, f.Check, f.Subject, "", f.Text())
		if f.Remedy != "" {
			fmt.Fprintf(&out, "%36s-> %s\n", "", f.Remedy)
		}
	}
	if len(all) == 0 {
		out.WriteString("ok: nothing is wrong\n")
	}
	_, err := io.WriteString(w, wording.Safe(out.String()))
	return err
}
