package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Kind is which server a Node runs.
type Kind string

// The servers. ZooKeeper is Debian's package, 3.8.0, unless there is a ClassPath.
const (
	Warren    Kind = "warren"
	ZooKeeper Kind = "zookeeper"
)

// Options describe a Node.
type Options struct {
	Kind Kind // default Warren
	// Binary is the path of the warren binary; "" is the one that Binary returns.
	Binary string
	// Settings are lines of zoo.cfg that replace or follow the defaults of zooCfg.
	Settings map[string]string
	// Properties become -D options of the JVM. Warren does not see them.
	Properties map[string]string
	// JVM are options of the JVM in place of those that let it start fast and stay small.
	JVM []string
	// ClassPath is that of another release of ZooKeeper; "" is that of Debian's.
	ClassPath string
	// Env are additional KEY=value pairs for Warren.
	Env []string
	// Dir is a data directory to use; "" is a new one.
	Dir string
	// Host is the address to listen on, default 127.0.0.1.
	Host string
	// Port is where it takes clients; 0 is a free one of its own.
	Port int
	// Name stands in the server lines in place of Host; "" is Host. It has to resolve, see ResolvConf.
	Name string
	// ResolvConf is a file that the process sees as /etc/resolv.conf, which takes root; "" is that of the machine.
	ResolvConf string
	// Second is one more address of a member for other servers, on the same ports, which they have to be allowed by
	// multiAddress.enabled.
	Second string
	// Namespace is a network namespace in which the process runs, which takes root; "" is the test's own.
	Namespace string
	// Observer makes a member of an ensemble an observer.
	Observer bool
	// Reconfig lets the ensemble be changed by any client. The client port stands in the server line then, and
	// zoo.cfg is written before the first start only, since servers change it.
	Reconfig bool
	// Joiner makes a server one that no other names: it learns, and waits for a reconfiguration that adds it.
	Joiner bool
}

func (o *Options) host() string {
	if o.Host == "" {
		return "127.0.0.1"
	}
	return o.Host
}

// zooCfg returns the text of zoo.cfg. Syncs stay on: they are what crash tests are about.
func zooCfg(n *Node) string {
	settings := map[string]string{
		"tickTime":                "2000",
		"initLimit":               "10",
		"syncLimit":               "5",
		"maxClientCnxns":          "0",
		"4lw.commands.whitelist":  "*",
		"admin.enableServer":      "false",
		"dataDir":                 n.dataDir,
		"clientPort":              strconv.Itoa(n.port),
		"clientPortAddress":       n.options.host(),
		"autopurge.purgeInterval": "0",
	}
	for _, m := range n.members {
		if !m.joiner || m.id == n.id {
			settings["server."+strconv.Itoa(m.id)] = m.line(n.options.Reconfig)
		}
	}
	if n.options.Reconfig {
		delete(settings, "clientPort")
		delete(settings, "clientPortAddress")
		settings["reconfigEnabled"], settings["standaloneEnabled"], settings["skipACL"] = "true", "false", "yes"
	}
	maps.Copy(settings, n.options.Settings)
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&b, "%s=%s\n", key, settings[key])
	}
	return b.String()
}

// line is the value of a server line.
func (m *member) line(reconfig bool) string {
	line := fmt.Sprintf("%s:%d:%d", cmp.Or(m.name, m.host), m.peerPort, m.electionPort)
	if m.second != "" {
		line += fmt.Sprintf("|%s:%d:%d", m.second, m.peerPort, m.electionPort)
	}
	switch {
	case m.observer:
		line += ":observer"
	case reconfig:
		line += ":participant"
	}
	if reconfig {
		line += fmt.Sprintf(";%s:%d", m.host, m.clientPort)
	}
	return line
}

// Line returns the server line of a node whose ensemble can be changed, as a reconfiguration that adds it has it.
func (n *Node) Line() string {
	return fmt.Sprintf("server.%d=%s", n.id, n.self().line(true))
}

// log4j sends Java's warnings, and the lines of its audit log, to the output, which is the log of the node.
const log4j = `log4j.rootLogger=WARN, A
log4j.logger.org.apache.zookeeper.audit.Slf4jAuditLogger=INFO
log4j.appender.A=org.apache.log4j.ConsoleAppender
log4j.appender.A.layout=org.apache.log4j.PatternLayout
log4j.appender.A.layout.ConversionPattern=%d{ISO8601} %-5p [%t:%c{1}] %m%n
`

// writeFiles puts zoo.cfg, myid and the logging configuration in place.
func (n *Node) writeFiles() error {
	files := map[string]string{
		filepath.Join(n.dir, "zoo.cfg"):          zooCfg(n),
		filepath.Join(n.dir, "log4j.properties"): log4j,
	}
	if n.members != nil {
		files[filepath.Join(n.dataDir, "myid")] = strconv.Itoa(n.id) + "\n"
	}
	if err := os.MkdirAll(n.dataDir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if _, err := os.Stat(name); err == nil && n.options.Reconfig {
			continue
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
