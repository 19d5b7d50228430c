package rescue

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/command/reach"
	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/wording"
)

// supportOptions are the flags of warren support.
type supportOptions struct {
	reach.ClientTLS
	servers   []string
	adminPort int
	authFile  string
	log       string
	output    string
	timeout   time.Duration
}

// Bounds of what goes into a bundle.
const (
	supportFileMax  = 8 << 20 // bytes of a file that a server sends, unpacked
	supportFilesMax = 100     // files of a server
	supportLogMax   = 4 << 20 // bytes of the end of a log
)

func newSupportCommand() *cobra.Command {
	var o supportOptions
	cmd := &cobra.Command{
		Use:   "support [HOST:PORT...]",
		Short: "Collect what a bug report needs from running servers, without secrets",
		Long: "Writes a tar.gz with the findings of `warren doctor` and, for each server, its state, its\n" +
			"settings with secrets masked, findings, figures of the last day, slow operations, metrics, build\n" +
			"and goroutine stacks. It holds no passwords, keys, ACLs or data of znodes, but it does hold\n" +
			"addresses and paths: look at it before you send it.\n\n" +
			"Servers give all this to the super user, or to an identity with every permission on /: name it\n" +
			"with --auth-file. For a server that refuses or does not serve, the file has what that server\n" +
			"tells anyone.\n\n" +
			"The exit code is 0 if every server gave all of it, and 1 if something is missing.",
		Example: "  warren support zk1:2181 zk2:2181 zk3:2181 --auth-file super.txt\n" +
			"  warren support --log /var/log/warren/warren.log --output report.tar.gz",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := reach.NamedServers(cmd, &o.servers, args); err != nil {
				return err
			}
			return o.run(cmd)
		},
	}
	flags := cmd.Flags()
	reach.AddServers(flags, &o.servers)
	o.AddTo(cmd)
	reach.AddAdminPort(flags, &o.adminPort)
	reach.AddAuthFile(cmd, &o.authFile)
	flags.StringVar(&o.log, "log", "", "log file of a server, whose end is added unchanged")
	flags.StringVarP(&o.output, "output", "o", "", "file to write (default warren-support-TIME.tar.gz)")
	cli.AddTimeout(flags, &o.timeout, 10*time.Second, "how long to wait for a server")
	return cmd
}

func (o *supportOptions) run(cmd *cobra.Command) error {
	authorization, err := reach.Authorization(o.authFile)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	o.output = cmp.Or(o.output, "warren-support-"+now.Format("20060102-150405")+".tar.gz")
	var packed bytes.Buffer
	squeezed := gzip.NewWriter(&packed)
	b := &supportBundle{to: tar.NewWriter(squeezed), now: now}
	if o.log != "" {
		end, err := endOf(o.log)
		if err != nil {
			return wording.File("--log", o.log, err)
		}
		b.add("log.txt", end)
	}
	ensemble := doctor.Ensemble{Servers: o.servers, AdminPort: o.adminPort, Timeout: o.timeout, MaxLag: 10_000,
		Now: time.Now, TLS: o.Of}
	var text bytes.Buffer
	if err := printFindings(&text, "table", ensemble.Check(cmd.Context())); err != nil {
		return err
	}
	b.add("doctor.txt", text.Bytes())
	complete := true
	for _, address := range o.servers {
		port := &doctor.AdminPort{Port: o.adminPort, Timeout: o.timeout, TLS: o.Of, Authorization: authorization}
		if port.Port == 0 {
			port.Port = o.AdminPort(cmd.Context(), address, o.timeout)
		}
		if err := b.addServer(cmd.Context(), port, address); err != nil {
			if o.adminPort == 0 {
				err = cmp.Or(o.Down(cmd.Context(), address, o.timeout), err)
			}
			complete = false
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", address, wording.About(address, err))
		}
	}
	if err := errors.Join(b.err, b.to.Close(), squeezed.Close()); err != nil {
		return err
	}
	f, err := os.OpenFile(o.output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		err = errors.New("it exists already: name another file")
	}
	if err != nil {
		return wording.File("--output", o.output, err)
	}
	_, err = f.Write(packed.Bytes())
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), o.output); err != nil || complete {
		return err
	}
	return cli.ExitStatus(cli.ExitUnexpected)
}

// supportBundle is an archive that is being written. After an error it takes nothing more.
type supportBundle struct {
	to  *tar.Writer
	now time.Time
	err error
}

func (b *supportBundle) add(name string, text []byte) {
	if b.err == nil {
		b.err = b.to.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), ModTime: b.now})
	}
	if b.err == nil {
		_, b.err = b.to.Write(text)
	}
}

// addServer adds what a server gives, in a folder of its own. Of one that does not give all, it returns why, and adds
// what the server tells everybody.
func (b *supportBundle) addServer(ctx context.Context, port *doctor.AdminPort, address string) error {
	folder := strings.Map(func(r rune) rune {
		if r == ':' || r == '/' || r < ' ' {
			return '_'
		}
		return r
	}, address)
	answer, err := port.Get(ctx, address, "/api/v1/support")
	if err == nil && answer.Code != http.StatusOK {
		err = refusedSupport(answer, port.Authorization != "")
	}
	if err == nil {
		err = b.unpack(folder, answer.Body)
	}
	if err == nil {
		return nil
	}
	b.add(folder+"/missing.txt", []byte(err.Error()+"\n"))
	for name, at := range map[string]string{"server.json": "/api/v1/ensemble", "servers.json": "/api/v1/servers",
		"settings.json": "/api/v1/configuration", "metrics.txt": "/metrics"} {
		if answer, err := port.Get(ctx, address, at); err == nil && answer.Code == http.StatusOK {
			b.add(folder+"/"+name, answer.Body)
		}
	}
	return err
}

// refusedSupport is why a server gives no bundle. What it says is printed without control characters.
func refusedSupport(answer *doctor.AdminAnswer, withCredentials bool) error {
	var trouble struct{ Detail string }
	if json.Unmarshal(answer.Body, &trouble) != nil || trouble.Detail == "" {
		return fmt.Errorf("the admin port answered %s, and no bundle: is it Warren's?", answer.Status)
	}
	if answer.Code == http.StatusForbidden && !withCredentials {
		return errors.New(cli.NeedsCredentials)
	}
	return errors.New(wording.Safe(trouble.Detail))
}

// unpack adds the files of the bundle that a server has sent, below a folder.
func (b *supportBundle) unpack(folder string, packed []byte) error {
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	archive := tar.NewReader(plain)
	for range supportFilesMax {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(archive, supportFileMax))
		if err != nil {
			return err
		}
		b.add(path.Join(folder, path.Base(path.Clean("/"+h.Name))), text)
	}
	return errors.New("the bundle of the server has too many files")
}

func endOf(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-supportLogMax), supportLogMax))
}
