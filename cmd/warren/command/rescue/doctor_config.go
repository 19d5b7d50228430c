package rescue

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed94657493/warren/cmd/warren/command/serve"
	"github.com/seed94657493/warren/cmd/warren/doctor"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/inuse"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/datadir"
)

// checkConfig checks the file, and what it names.
func (o *doctorOptions) checkConfig() (all doctor.Findings) {
	file, err := filepath.Abs(o.config)
	if err != nil {
		file = o.config
	}
	report := config.Check(file, nil, os.Environ())
	for _, p := range serve.StartProblems(report) {
		all = append(all, doctor.Finding{Severity: doctor.Error, Check: "config", Subject: o.config, What: p.Error(),
			Remedy: remedyConfig(p)})
	}
	for _, w := range report.Warnings {
		all = append(all,
			doctor.Finding{Severity: doctor.Warning, Check: "config", Subject: o.config, What: w.String(),
				Remedy: "correct or remove the setting; CONFIGURATION.md has all that there are, COMPATIBILITY.md " +
					"those without effect"})
	}
	c := report.Config
	if c == nil {
		return all
	}
	if c.Autopurge.PurgeInterval == 0 {
		all = append(all, doctor.Finding{Severity: doctor.Warning, Check: "purge", Subject: o.config,
			What:   "autopurge.purgeInterval is 0: old snapshots are not removed",
			Remedy: "set it to 1 (hour), or run zkCleanup.sh regularly"})
	}
	for _, store := range []config.Store{
		c.TLS.KeyStore, c.TLS.TrustStore, c.QuorumTLS.KeyStore, c.QuorumTLS.TrustStore,
	} {
		if store.Location != "" && store.Format() == "PEM" {
			all = append(all, checkPEM(store.Location, time.Now())...)
		}
	}
	all = append(all, checkNames(c)...)
	if holder := holderOf(c.DataDir, c.DataLogDir); holder == nil {
		all = append(all, checkPorts(c)...)
	} else {
		all = append(all, *holder)
	}
	d := o.directory(c.DataDir, c.DataLogDir, c.Distributed())
	d.NoAutocreate = !c.Distributed() && !c.DBAutocreate
	return append(all, d.Check()...)
}

// checkPEM looks how long the certificates in a file last.
func checkPEM(file string, now time.Time) (all doctor.Findings) {
	text, err := os.ReadFile(file)
	if err != nil {
		return doctor.Findings{{Severity: doctor.Error, Check: "certificate", Subject: file,
			What: wording.About(file, err), Remedy: "let the user of the server read it"}}
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			all = append(all, doctor.Finding{Severity: doctor.Error, Check: "certificate", Subject: file,
				What: wording.Text(err), Remedy: "make it anew"})
			continue
		}
		f := doctor.Finding{Check: "certificate", Subject: file, Remedy: "renew it"}
		switch left := cert.NotAfter.Sub(now); {
		case left <= 0:
			f.Severity, f.What = doctor.Critical,
				fmt.Sprintf("%s has expired at %s", cert.Subject, cert.NotAfter.UTC().Format(time.RFC3339))
		case left < 30*24*time.Hour:
			f.Severity, f.What = doctor.Warning,
				fmt.Sprintf("%s expires at %s", cert.Subject, cert.NotAfter.UTC().Format(time.RFC3339))
		default:
			continue
		}
		all = append(all, f)
	}
	return all
}

// remedyConfig is what to do about a problem that keeps a server from starting.
func remedyConfig(problem error) string {
	if _, ok := errors.AsType[*server.BindError](problem); ok {
		return "correct the address in the file, or repair the name server; behind NAT and on Kubernetes set " +
			"quorumListenOnAllIPs=true for the line server.N; clientPortAddress=0.0.0.0 needs no name server"
	}
	return "correct it: the server does not start. warren config check FILE shows the same"
}

// resolveTime bounds the questions to name servers.
const resolveTime = 5 * time.Second

// checkNames looks whether the names of the other servers have addresses. Those of this server are start problems.
func checkNames(c *config.Config) (all doctor.Findings) {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTime)
	defer cancel()
	var asking sync.WaitGroup
	var mu sync.Mutex
	for i := range c.Members {
		m := &c.Members[i]
		if c.Distributed() && m.ID == c.ServerID {
			continue
		}
		for _, a := range m.Addresses {
			asking.Go(func() {
				if _, err := net.DefaultResolver.LookupHost(ctx, a.Host); err != nil {
					mu.Lock()
					defer mu.Unlock()
					all = append(all, doctor.Finding{Severity: doctor.Warning, Check: "name",
						Subject: fmt.Sprintf("server.%d=%s", m.ID, a.Host), What: wording.About(a.Host, err),
						Remedy: "repair the name server, or the line server.N; a server that runs uses " +
							"the addresses in last_known of its log meanwhile"})
				}
			})
		}
	}
	asking.Wait()
	slices.SortStableFunc(all, func(a, b doctor.Finding) int { return cmp.Compare(a.Subject, b.Subject) })
	return all
}

// checkPorts looks whether the ports of a server that does not run are free.
func checkPorts(c *config.Config) (all doctor.Findings) {
	for _, l := range c.Listens() {
		if l.Port == 0 {
			continue
		}
		address := net.JoinHostPort(l.Host, strconv.Itoa(l.Port))
		ln, err := inuse.Listen("tcp", address)
		if err == nil {
			_ = ln.Close()
		}
		taken, ok := errors.AsType[*inuse.Error](err)
		if !ok {
			continue // other errors are start problems
		}
		f := doctor.Finding{Severity: doctor.Error, Check: "port", Subject: address,
			What:   "the port of " + c.Named(l.Key) + " is in use by " + taken.Holder,
			Remedy: "stop that process if it is an old server, else choose another port"}
		switch {
		case l.Key == "admin.serverPort" && !c.Given(l.Key):
			f.Severity = doctor.Warning
			f.Remedy = "choose another port with admin.serverPort, or admin.enableServer=false: the server " +
				"starts without an admin server, and probes need it"
		case l.Key == "admin.serverPort":
			f.Remedy = "choose another port with admin.serverPort, or admin.enableServer=false"
		case strings.HasPrefix(l.Key, "metricsProvider."):
			f.Remedy = "choose another port by " + l.Key + ", or scrape /metrics of the admin port"
		}
		all = append(all, f)
	}
	return all
}

// holderOf says which process has the data directories open; nil if none has, or that cannot be told.
func holderOf(dirs ...string) *doctor.Finding {
	for _, dir := range dirs {
		file := filepath.Join(dir, datadir.Folder, datadir.LockFile)
		if pid, found := inuse.LockedBy(file); found {
			return &doctor.Finding{Severity: doctor.Notice, Check: "in-use", Subject: file,
				What: "process " + pid +
					" has the directory open: if that is the server, its ports and its settings may " +
					"differ from the file, and ports were not looked at",
				Remedy: "no other server starts on this directory; fuser " + file + " finds the process"}
		}
	}
	return nil
}
