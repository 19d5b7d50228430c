package arch

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// layer is what one folder, with all below it that has no layer of its own, may import, and why.
type layer struct {
	ours   []string // folders of this repository
	others []string // modules and packages of others; a standard library package needs no entry
	tests  []string // what only its tests may import besides, ours or others'
	why    string
}

// layers is the import map of docs/DESIGN.md. What is not here is refused.
var layers = map[string]layer{
	"proto": {why: "the records are the ground that everybody stands on"},
	"zab/quorum": {ours: []string{"proto"},
		why: "which voters decide depends on their list alone"},
	"zab": {ours: []string{"proto", "zab/quorum"},
		why: "agreement is a pure function of messages and ticks, so that a simulator can run it"},
	"datatree": {ours: []string{"proto", "datatree/auth", "datatree/quota"},
		// snapshots that ZooKeeper has compressed; CPU time
		tests: []string{"github.com/klauspost/compress", "golang.org/x/sys"},
		why:   "the replicated state must depend on nothing that differs between servers"},
	"datatree/auth": {ours: []string{"proto"},
		why: "which connections an ACL entry means does not depend on the tree"},
	"datatree/quota": {why: "what the text of a quota means does not depend on the tree"},
	"datatree/prepare": {ours: []string{"proto", "datatree", "datatree/auth", "datatree/quota"},
		tests: []string{"golang.org/x/sys"}, // CPU time
		why:   "only a leader prepares: every server applies, and the state does not know what is not applied yet"},
	"datatree/watch": {ours: []string{"proto", "datatree"},
		why: "watches are not replicated: they follow the changes of the state, and the state does not know them"},
	"wal/vfs": {others: []string{"golang.org/x/sys"}, why: "the filesystem knows bytes, not records"},
	"wal": {ours: []string{"wal/vfs", "proto"}, others: []string{"go.uber.org/zap"},
		why: "the log does not know what a txn means"},
	"snapshot": {ours: []string{"wal/vfs", "proto"},
		others: []string{"go.uber.org/zap", "github.com/klauspost/compress"},
		why:    "a snapshot asks for what it needs by an interface of its own, so it does not know the tree"},
	".": {why: "the pages are bytes"},
	"internal/site": {others: []string{"github.com/yuin/goldmark"},
		tests: []string{module, "golang.org/x/net"}, // the pages, and a reader of HTML
		why:   "a web site is made of pages, whether a server shows it or not"},
	"internal/inuse":    {why: "who has a port can be read from the kernel, whoever wants the port"},
	"internal/findings": {why: "what a number means needs neither the server that has it nor the command that asks"},
	"internal/znodetext": {ours: []string{"proto"},
		why: "the text of znodes needs neither the server that has them nor the reader"},
	"internal/answers": {why: "what is answered to operators is the same for the server and for who asks"},
	"internal/sched": {others: []string{"golang.org/x/sys"},
		why: "time and waiting are the ground of everything that runs, and know nothing of it"},
	"server": {
		ours: []string{"internal/inuse", "internal/sched", "proto", "zab", "zab/quorum", "datatree/auth",
			"snapshot", "wal/vfs", "server"},
		others: []string{"go.uber.org/zap", "github.com/prometheus"},
		tests: []string{module + "/datatree", module + "/internal/answers", module + "/wal", "golang.org/x/sys",
			"go.yaml.in/yaml/v3",                             // the alert rules under deploy
			module + "/kerberos", module + "/internal/sasl"}, // clients with tickets and passwords
		why: "the server is where everything meets; clients and tools stay outside",
	},
	"server/internal/env": {
		ours: []string{"internal/sched", "datatree", "datatree/auth", "proto", "wal/vfs",
			"server/config", "server/internal/figures", "server/internal/flow", "server/internal/limits",
			"server/internal/sessions", "server/internal/stages"},
		others: []string{"go.uber.org/zap", "github.com/prometheus"},
		why:    "what all parts share knows none of them",
	},
	"server/internal/durable": {
		ours: []string{"internal/sched", "datatree", "proto", "snapshot", "wal", "wal/vfs", "zab",
			"server/datadir", "server/meta", "server/rebuild", "server/internal/env", "server/internal/figures",
			"server/internal/flow"},
		others: []string{"go.uber.org/zap"},
		why:    "what is durable does not depend on the role of the server, nor on clients",
	},
	"server/internal/host": {
		ours: []string{"internal/sched", "datatree", "datatree/auth", "datatree/prepare",
			"datatree/quota", "proto", "snapshot", "zab", "zab/quorum",
			"server/config", "server/datadir", "server/peers",
			"server/internal/durable", "server/internal/env", "server/internal/figures", "server/internal/flow",
			"server/internal/host/kept", "server/internal/host/lease", "server/internal/host/observers",
			"server/internal/host/succession", "server/internal/host/syncs", "server/internal/keystore",
			"server/internal/limits", "server/internal/security", "server/internal/sessions",
			"server/internal/stages"},
		others: []string{"go.uber.org/zap"},
		// what it is tried with
		tests: []string{module + "/server/internal/serve", module + "/server/meta", module + "/wal"},
		why:   "the host knows clients and the applier by interfaces, and neither sockets of clients nor the log",
	},
	"server/internal/serve": {
		ours: []string{"internal/inuse", "internal/sched", "datatree", "datatree/auth", "datatree/watch", "proto",
			"server/config", "internal/sasl", "server/internal/audit", "server/internal/env",
			"server/internal/figures", "server/internal/flow", "server/internal/keystore",
			"server/internal/limits", "server/internal/security", "server/internal/sessions", "server/internal/socket",
			"server/internal/stages", "server/internal/topk"},
		others: []string{"go.uber.org/zap", "github.com/prometheus", "golang.org/x/sys"},
		why: "connections hand requests to an interface and are answered by the applier: they know no " +
			"agreement and no disk",
	},
	"server/internal/facts": {
		ours: []string{"datatree", "datatree/auth", "datatree/quota", "datatree/watch", "internal/answers", "proto",
			"zab", "server/config", "server/internal/audit", "server/internal/durable", "server/internal/env",
			"server/internal/figures", "server/internal/host", "server/internal/serve", "server/internal/sessions",
			"server/internal/stages", "server/internal/topk", "wal/vfs"},
		others: []string{"go.uber.org/zap", "golang.org/x/sys"},
		tests:  []string{module + "/internal/sched"}, // a server without parts
		why:    "what a server knows of itself is read from every part, and no part reads it",
	},
	"server/internal/ensemble": {
		ours: []string{"datatree/auth", "internal/findings", "proto", "server/config", "server/internal/durable",
			"server/internal/env", "server/internal/facts", "server/internal/host", "server/internal/serve", "zab"},
		others: []string{"go.uber.org/zap"},
		why:    "what others have told adds to what a server knows of itself, and does not know who may see it",
	},
	"server/internal/visible": {
		ours: []string{"datatree", "datatree/auth", "datatree/quota", "internal/answers", "internal/znodetext",
			"proto", "server/config", "server/internal/audit", "server/internal/coordination",
			"server/internal/durable", "server/internal/ensemble", "server/internal/facts", "server/internal/past",
			"server/internal/serve", "server/internal/sizes", "server/internal/stages", "server/internal/topk",
			"server/internal/trends", "server/rebuild", "wal/vfs"},
		others: []string{"go.uber.org/zap"},
		tests:  []string{module + "/server/internal/env"}, // a server without parts
		why:    "what a visitor may see is decided in one place, above everything that is known",
	},
	"server/internal/metrics": {ours: []string{"internal/findings", "proto", "server/config",
		"server/internal/ensemble", "server/internal/facts", "server/internal/figures"},
		others: []string{"github.com/prometheus"},
		why:    "what is published is known already: the exporter finds out nothing and decides nothing"},
	"server/internal/words": {ours: []string{"proto", "server/config", "server/internal/ensemble",
		"server/internal/facts", "server/internal/serve", "server/internal/sessions"},
		tests: []string{module + "/server/internal/env"}, // a server without parts
		why:   "a word is a text of facts, and of the connections that it lists"},
	"server/internal/api": {ours: []string{"datatree/auth", "internal/znodetext",
		"server/internal/ensemble", "server/internal/facts", "server/internal/formats", "server/internal/inside",
		"server/internal/limits", "server/internal/orders", "server/internal/visible"},
		others: []string{"go.uber.org/zap"},
		tests:  []string{module + "/proto"},
		why: "visitors ask a server by an interface of its own, so that every rule for them can be " +
			"tested without one"},
	"server/internal/console": {ours: []string{".", "internal/site", "server/internal/api"},
		others: []string{"maragu.dev/gomponents"},
		tests:  []string{"golang.org/x/net", module + "/datatree/auth", module + "/proto"}, // to be a server
		why:    "pages show what programs get by the API, and have no way around its rules"},
	"server/internal/coordination": {ours: []string{"proto"},
		why: "what znodes mean is an opinion about names and data, and needs no server"},
	"server/internal/inside": {ours: []string{"datatree/auth", "datatree/quota", "internal/znodetext", "proto",
		"server/internal/serve", "server/internal/visible"},
		why: "what visitors change is planned from what they see, and has no way into the server but a connection"},
	"server/internal/admin": {ours: []string{"internal/answers", "internal/findings", "proto", "server/config",
		"server/internal/facts", "server/internal/limits", "server/internal/orders", "server/internal/sessions",
		"server/internal/socket"},
		others: []string{"go.uber.org/zap"},
		why: "the admin server asks a server by an interface of its own; the console has the same labels and " +
			"orders"},
	"server/internal/orders": {ours: []string{"datatree", "internal/answers", "proto", "snapshot", "wal/vfs", "zab",
		"server/internal/durable", "server/internal/env", "server/internal/host", "server/internal/serve"},
		others: []string{"go.uber.org/zap"},
		why:    "an order reads and changes a running server, and does not know the way by which it has come"},
	"server/config": {ours: []string{"proto", "wal/vfs"}, // how hosts are written, and the files that are rewritten
		why: "configuration is read by all parts of a server, so it may know none of them"},
	"server/internal/formats": {others: []string{"github.com/klauspost/compress", "go.yaml.in/yaml/v3"},
		why: "data is laid out without a visitor, a page and a server"},
	"server/internal/outcomes": {ours: []string{"internal/sched", "proto",
		"server/internal/env", "server/rebuild", "wal"},
		tests: []string{module + "/datatree", module + "/server/config", module + "/wal/vfs"}, // a log in memory
		why:   "what has become of a request is read from the log, whoever asks"},
	"server/internal/past": {ours: []string{"proto", "server/rebuild", "snapshot", "wal"},
		tests: []string{module + "/wal/vfs"}, // files in memory
		why:   "what was is read from files, without the tree, its locks and the visitor that asks"},
	"server/internal/audit": {
		ours: []string{"proto", "datatree/auth", "internal/znodetext", "wal/vfs"}, others: []string{"go.uber.org/zap"},
		why: "a line says what a request asked for and how it ended, and needs neither its connection nor the tree"},
	"server/internal/figures": {ours: []string{"proto"}, others: []string{"github.com/prometheus"},
		why: "all parts of a server add to the figures, so the figures know none of them"},
	"server/internal/sizes": {why: "sums need no server"},
	"server/internal/topk": {ours: []string{"proto"},
		why: "what is counted knows neither connections nor the tree"},
	"server/internal/trends": {why: "how figures went needs no server"},
	"server/internal/stages": {ours: []string{"internal/sched", "proto"},
		others: []string{"go.uber.org/zap", "github.com/prometheus"},
		why:    "where time goes is told by those who spend it, and asked of none"},
	"server/internal/traces": {
		ours:   []string{"internal/sched", "proto", "server/config", "server/internal/stages"},
		others: []string{"go.uber.org/zap", "github.com/prometheus", "google.golang.org/protobuf"},
		tests:  []string{"go.opentelemetry.io/proto/otlp"}, // to read what is sent
		why:    "a collector of traces is as strange as a client, and no request may wait for it"},
	"server/internal/flow": {ours: []string{"internal/sched", "proto", "zab", "datatree/auth",
		"server/internal/sessions", "server/internal/topk"},
		why: "what moves through a server knows a client as an interface, and neither sockets nor disks"},
	"server/internal/host/kept": {ours: []string{"proto", "server/internal/flow", "server/internal/sessions"},
		why: "a connection waits for a leader in the same way whatever role asks for it"},
	"server/internal/host/lease": {ours: []string{"proto", "server/internal/flow"},
		why: "until when clients may be answered follows from times of messages, not from links or roles"},
	"server/internal/host/observers": {
		ours:   []string{"proto", "server/peers", "server/internal/flow", "server/internal/sessions", "zab"},
		others: []string{"go.uber.org/zap"},
		why:    "what is kept in order for observers does not depend on what a follower does for its own clients"},
	"server/internal/host/succession": {ours: []string{"proto", "zab"},
		why: "who is to lead is decided from facts, and carried out by the host"},
	"server/internal/host/syncs": {ours: []string{"proto", "server/internal/flow", "zab"},
		why: "what waits behind a sync does not depend on what becomes of it then"},
	"server/internal/garbage": {why: "a setting of Go's runtime needs the size of the tree and nothing else"},
	"server/internal/keystore": {ours: []string{"proto", "server/config", "wal/vfs"},
		others: []string{"go.uber.org/zap", "software.sslmate.com/src/go-pkcs12"},
		why:    "certificates are for every port, so their loader knows none of them"},
	"internal/sasl": {ours: []string{"proto", "kerberos"},
		why: "an exchange of tokens is the same between clients and between servers"},
	"server/embed": {ours: []string{"server", "server/config", "server/meta", "wal/vfs", "proto"},
		others: []string{"go.uber.org/zap"}, tests: []string{module + "/client"},
		// whose sessions must survive what it does to servers
		why: "servers in a test's own process are started by what a program would start them by"},
	"server/datadir": {ours: []string{"internal/inuse", "proto", "server/meta", "snapshot", "wal", "wal/vfs", "zab"},
		why: "commands change directories while no server runs, so a server need not exist for it"},
	"server/rebuild": {ours: []string{"datatree", "proto", "snapshot", "wal", "wal/vfs"},
		why: "a state comes from files; a server need not exist for it"},
	"server/meta": {ours: []string{"proto", "wal/vfs"}, others: []string{"go.etcd.io/bbolt", "golang.org/x/sys"},
		tests: []string{module + "/snapshot"}, // whose interface for a catalogue it fulfils
		why:   "the only home of bbolt"},
	"server/internal/limits": {ours: []string{"proto", "server/config"},
		why: "a rule of admission says how much there may be, and not what is done with it"},
	"server/internal/security": {
		ours: []string{"datatree/auth", "kerberos", "proto", "server/config", "server/internal/keystore",
			"server/internal/limits", "server/internal/socket", "server/peers", "internal/sasl", "wal/vfs"},
		others: []string{"go.uber.org/zap", "github.com/prometheus"},
		why:    "who is at the other end is decided before there is a session or a role"},
	"server/internal/sessions": {ours: []string{"proto", "zab"},
		why: "when a session expires depends on times that are handed in, not on sockets or txns"},
	"server/internal/socket": {
		others: []string{"golang.org/x/sys"}, // what TCP knows of a connection
		why:    "both ports write in the same way, and a socket knows neither clients nor servers"},
	"server/peers": {ours: []string{"internal/sched", "proto", "zab", "server/internal/socket"},
		others: []string{"go.uber.org/zap"},
		why:    "the wire between servers carries txns and snapshots without looking into them"},
	"client": {ours: []string{"proto"},
		why: "a program that uses the client must not carry a server, nor any other module"},
	"kerberos": {others: []string{"github.com/jcmturner/gokrb5/v8"},
		tests: []string{"github.com/jcmturner/gofork"}, // what KDCs write into tickets
		why:   "tickets are the same for clients and servers, and only those who use them depend on their library"},
	"client/otelclient": {ours: []string{"client", "proto"}, others: []string{"go.opentelemetry.io/otel"},
		why: "only programs that trace with OpenTelemetry depend on it"},
	"recipes": {ours: []string{"client", "proto"},
		why: "recipes use the client API only, so that every one of them could be written outside"},
	"cmd": {
		ours: []string{"server", "server/config", "server/datadir", "server/rebuild", "internal/sasl", "client",
			"kerberos", "recipes",
			"wal", "wal/vfs", "snapshot", "datatree", "datatree/auth", "datatree/quota", "proto", "cmd",
			"internal/answers", "internal/findings", "internal/inuse", "internal/znodetext"},
		others: []string{"go.uber.org/zap", "github.com/prometheus", "github.com/spf13", "golang.org/x/sys",
			"golang.org/x/term", "github.com/HdrHistogram/hdrhistogram-go",
			"github.com/minio/minio-go/v7", "filippo.io/age"}, // backups in buckets
		tests: []string{module + "/server/embed"}, // an ensemble in the test's own process
		why:   "a command turns flags into calls; agreement is the server's affair",
	},
}

// testOnly are the modules that only tests may import, besides what their package may.
var testOnly = []string{
	"github.com/stretchr/testify", "go.uber.org/goleak", "github.com/anishathalye/porcupine",
	"github.com/go-zookeeper/zk", "github.com/bep/goat",
}

// layerOf returns the layer of a folder: its own, or that of the nearest folder above it.
func layerOf(folder string) (string, bool) {
	if folder == "." {
		return folder, true // nothing is below it: each folder has an entry of its own, or one above it has
	}
	for ; folder != "."; folder = path.Dir(folder) {
		if _, ok := layers[folder]; ok {
			return folder, true
		}
	}
	return "", false
}

func TestImports(t *testing.T) {
	for _, f := range files(t) {
		if f.in("test") {
			continue // tests that need more than one package may import anything
		}
		name, ok := layerOf(f.folder)
		if !ok {
			t.Errorf("%s: folder %s is not in the import map: say there what it may import and why", f.name, f.folder)
			continue
		}
		for _, imported := range slices.Sorted(maps.Keys(f.imports())) {
			if !mayImport(f, name, imported) {
				t.Errorf("%s imports %s, which %s must not: %s", f.name, imported, name, layers[name].why)
			}
		}
	}
}

// mayImport reports whether a file of the named layer may import a package.
func mayImport(f *file, name, imported string) bool {
	l := layers[name]
	if f.isTest() && under(imported, l.tests) {
		return true
	}
	if target, ours := strings.CutPrefix(imported, module); ours {
		target = cmp.Or(strings.TrimPrefix(target, "/"), ".")
		if target == name || strings.HasPrefix(target, name+"/") && !isLayer(target) {
			return true
		}
		if f.isTest() && (target == f.folder || strings.HasPrefix(target, "test/")) {
			return true // a test outside of the package, and the helpers under test
		}
		target, _ = layerOf(target)
		return slices.Contains(l.ours, target) || name == "server" && strings.HasPrefix(target, "server/")
	}
	if !strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") {
		return true // standard library; the purity tests look closer
	}
	allowed := l.others
	if f.isTest() {
		allowed = append(slices.Clone(allowed), testOnly...)
	}
	return under(imported, allowed)
}

// under reports whether a package is one of the given ones or below one.
func under(imported string, parents []string) bool {
	return slices.ContainsFunc(parents,
		func(p string) bool { return imported == p || strings.HasPrefix(imported, p+"/") })
}

func isLayer(folder string) bool {
	_, ok := layers[folder]
	return ok
}

// Every folder that is promised in the map exists, so that the map cannot rot. Folders that are planned may be
// missing.
func TestImportMapIsCurrent(t *testing.T) {
	planned := []string{"zab", "client", "recipes"}
	exists := map[string]bool{}
	for _, f := range files(t) {
		exists["."] = exists["."] || f.folder == "."
		for folder := f.folder; folder != "."; folder = path.Dir(folder) {
			exists[folder] = true
		}
	}
	for folder := range layers {
		if !exists[folder] && !slices.Contains(planned, folder) {
			t.Errorf("%s is in the import map and has no Go file", folder)
		}
	}
}
