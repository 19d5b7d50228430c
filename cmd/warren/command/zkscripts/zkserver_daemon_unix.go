//go:build unix

package zkscripts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/serve"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/server/config"
)

const (
	startPatience = 10 * time.Second // for the first line of a server; one that loads longer has started too
	stopPatience  = 30 * time.Second
	daemonPause   = 20 * time.Millisecond
)

// daemon is a server that zkServer.sh start leaves behind. Source: operations 6.1.
type daemon struct {
	config  string // path of zoo.cfg
	pidFile string
	output  string // where the server writes to
	out     io.Writer
}

// newDaemon returns the server of a configuration. One that is only to be stopped may have a wrong one by now.
func newDaemon(file, word string, out io.Writer) (*daemon, error) {
	cfg, _, err := serve.Load(file, nil)
	if err != nil && word == "stop" {
		cfg, err = config.LoadDataDir(file)
	}
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return &daemon{config: file, out: out,
		pidFile: cmp.Or(os.Getenv("ZOOPIDFILE"), filepath.Join(cfg.DataDir, "zookeeper_server.pid")),
		output: filepath.Join(cmp.Or(os.Getenv("ZOO_LOG_DIR"), cfg.DataDir),
			"zookeeper-"+name+"-server-"+host+".out")}, nil
}

func (d *daemon) run(word string) error {
	if word == "start" {
		return d.start()
	}
	if err := d.stop(); err != nil || word == "stop" {
		return err
	}
	return d.start()
}

// failed ends the line and the script.
func (d *daemon) failed(what string) error {
	fmt.Fprintln(d.out, what)
	return cli.ExitStatus(cli.ExitUnexpected)
}

// start starts a server and waits until it serves, for at most startPatience.
func (d *daemon) start() error {
	fmt.Fprint(d.out, "Starting zookeeper ... ")
	if pid := d.running(); pid > 0 {
		return d.failed(fmt.Sprintf("already running as process %d.", pid))
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.output), 0o755); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.pidFile), 0o755); err != nil {
		return err
	}
	output, err := os.Create(d.output)
	if err != nil {
		return err
	}
	defer output.Close()
	server := exec.Command(self, "server", d.config)
	server.Stdout, server.Stderr = output, output
	server.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives the terminal
	if err := server.Start(); err != nil {
		return d.failed("SERVER DID NOT START: " + wording.Text(err))
	}
	if err := os.WriteFile(d.pidFile, []byte(strconv.Itoa(server.Process.Pid)), 0o644); err != nil {
		fmt.Fprintln(d.out, "FAILED TO WRITE PID")
		return errors.Join(err, server.Process.Kill())
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	return d.await(ended)
}

// await waits for the line with which a server says that it serves clients, or listens for them: a member of an
// ensemble serves when there is a leader.
func (d *daemon) await(ended <-chan error) error {
	for deadline := time.Now().Add(startPatience); time.Now().Before(deadline); {
		select {
		case <-ended:
			fmt.Fprintln(d.out, "FAILED TO START")
			text, _ := os.ReadFile(d.output) // only for the message
			return errors.Join(fmt.Errorf("the server has ended, and this is in %s:\n%s", d.output,
				strings.TrimSpace(string(text))), os.Remove(d.pidFile))
		case <-time.After(daemonPause):
		}
		if text, err := os.ReadFile(d.output); err == nil && bytes.Contains(text, []byte(" clients on ")) {
			break
		}
	}
	return cli.Printf(d.out, "STARTED\n")
}

// stop asks the server to end and waits until it has.
func (d *daemon) stop() error {
	fmt.Fprint(d.out, "Stopping zookeeper ... ")
	if _, err := os.Stat(d.pidFile); err != nil {
		return cli.Printf(d.out, "no zookeeper to stop (could not find file %s)\n", d.pidFile)
	}
	if pid := d.running(); pid > 0 {
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			return d.failed("FAILED TO STOP: " + wording.Text(err))
		}
		for deadline := time.Now().Add(stopPatience); d.running() == pid; time.Sleep(daemonPause) {
			if time.Now().After(deadline) {
				return d.failed(fmt.Sprintf("process %d has not ended in %v", pid, stopPatience))
			}
		}
	}
	if err := os.Remove(d.pidFile); err != nil {
		return err
	}
	return cli.Printf(d.out, "STOPPED\n")
}

// running returns the process that the file names, 0 if it is gone. A process of another kind, which has got the
// number since, does not count: a server has the path of its zoo.cfg among its arguments.
func (d *daemon) running() int {
	text, err := os.ReadFile(d.pidFile)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return 0
	}
	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err == nil && !bytes.Contains(arguments, []byte(filepath.Base(d.config))) {
		return 0 // also one that has ended and was not waited for, which has no arguments
	}
	return pid
}
