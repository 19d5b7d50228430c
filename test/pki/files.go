package pki

import (
	"fmt"
	"os"
	"path/filepath"
)

// Files are what the servers of an ensemble know each other by, each with files of its own: key<id>.pem,
// trust<id>.pem and jaas<id>.conf.
type Files struct {
	Dir string
	CA  *CA
}

// File is the name of the file of one kind that server id has.
func (f Files) File(kind string, id int, extension string) string {
	return filepath.Join(f.Dir, fmt.Sprintf("%s%d.%s", kind, id, extension))
}

// Write replaces a file as a whole, because servers may be looking at it.
func (f Files) Write(name string, text []byte) {
	if err := os.WriteFile(name+".new", text, 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		panic(err)
	}
}

// WriteKey gives a server its certificate and key.
func (f Files) WriteKey(id int, l *Leaf) { f.Write(f.File("key", id, "pem"), l.PEM()) }

// WriteTrust says whose certificates a server trusts.
func (f Files) WriteTrust(id int, authorities ...*CA) {
	f.Write(f.File("trust", id, "pem"), Join(authorities...))
}

// Join is the certificates of authorities in one text.
func Join(authorities ...*CA) (text []byte) {
	for _, ca := range authorities {
		text = append(text, ca.PEM()...)
	}
	return text
}

// WriteLogin gives a server the password by which it asks to be let in and lets others in, both as user zk.
func (f Files) WriteLogin(id int, password string) {
	const module = "org.apache.zookeeper.server.auth.DigestLoginModule required"
	f.Write(f.File("jaas", id, "conf"), fmt.Appendf(nil,
		"QuorumServer {\n %s user_zk=%q;\n};\nQuorumLearner {\n %s username=\"zk\" password=%q;\n};\n", module,
		password, module, password))
}
