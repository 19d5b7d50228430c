package words

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/server/config"
)

// The words about the server itself.

// ruok says nothing if clients cannot be served, as ZooKeeper in a state of error.
func (w *Words) ruok(_ asker, out *bytes.Buffer) {
	if w.Stalled() == 0 {
		out.WriteString("imok")
	}
}

func (w *Words) isro(_ asker, out *bytes.Buffer) {
	switch {
	case w.ReadOnly():
		out.WriteString("ro")
	case w.TakesClients():
		out.WriteString("rw")
	default:
		out.WriteString("null")
	}
}

func (w *Words) mntr(_ asker, out *bytes.Buffer) {
	for _, n := range w.Numbers() {
		fmt.Fprintf(out, "zk_%s\t%s\n", n.Name, n.Value)
	}
}

func (w *Words) srst(_ asker, out *bytes.Buffer) {
	w.ResetStats()
	out.WriteString("Server stats reset.\n")
}

func (w *Words) dirs(_ asker, out *bytes.Buffer) {
	d := w.Directories()
	fmt.Fprintf(out, "datadir_size: %d\nlogdir_size: %d\n", d.Data, d.Log)
}

func (w *Words) envi(_ asker, out *bytes.Buffer) {
	out.WriteString("Environment:\n")
	for _, p := range w.Environment() {
		fmt.Fprintf(out, "%s=%s\n", p.Name, p.Value)
	}
}

func (w *Words) hash(_ asker, out *bytes.Buffer) {
	for _, d := range w.Digests() {
		fmt.Fprintf(out, "%x: %d\n", d.Zxid, d.Digest)
	}
}

func (w *Words) fact(_ asker, out *bytes.Buffer) {
	out.Write(w.RecordText())
	out.WriteByte('\n')
}

// held tells another server what it asks about the clients of this one.
func (w *Words) held(from asker, out *bytes.Buffer) {
	if id, question, ok := from.server(); ok {
		out.Write(w.HeldFor(id, string(question)))
	}
}

// task carries out what another server passes on.
func (w *Words) task(from asker, out *bytes.Buffer) {
	if id, sealed, ok := from.server(); ok {
		out.Write(w.TaskFrom(id, sealed))
	}
}

// server returns the id of the server that asks, in the eight bytes behind the word, and what it says: its length in
// two bytes, and that. ok is false if there is less.
func (from asker) server() (id int64, says []byte, ok bool) {
	b := from.behind(10)
	if b == nil {
		return 0, nil, false
	}
	length := int(binary.BigEndian.Uint16(b[8:]))
	id = int64(binary.BigEndian.Uint64(b))
	b = from.behind(10 + length)
	if b == nil {
		return 0, nil, false
	}
	return id, b[10:], true
}

func (w *Words) gtmk(_ asker, out *bytes.Buffer) { fmt.Fprint(out, w.TraceMask()) }

// stmk sets the trace mask to the eight bytes behind the word. The mask has no effect.
func (w *Words) stmk(from asker, out *bytes.Buffer) {
	b := from.behind(8)
	if b == nil {
		return
	}
	mask := int64(binary.BigEndian.Uint64(b))
	w.SetTraceMask(mask)
	fmt.Fprint(out, mask)
}

func (w *Words) conf(_ asker, out *bytes.Buffer) {
	line := func(key string, value any) { fmt.Fprintf(out, "%s=%v\n", key, value) }
	c, d := w.Configuration(), w.Directories()
	_, secure := w.front.PortNumbers()
	line("clientPort", c.ClientPort)
	line("secureClientPort", secure)
	line("dataDir", c.DataDir)
	line("dataDirSize", d.Data)
	line("dataLogDir", c.DataLogDir)
	line("dataLogSize", d.Log)
	line("tickTime", c.TickTimeMs)
	line("maxClientCnxns", c.MaxClientCnxns)
	line("minSessionTimeout", c.MinSessionTimeout)
	line("maxSessionTimeout", c.MaxSessionTimeout)
	line("clientPortListenBacklog", c.ListenBacklog)
	line("serverId", c.ServerID)
	if w.Config.Distributed() {
		w.memberConf(line, out)
	}
}

// memberConf is what conf says of a member besides; all but the configuration of the ensemble while it is read-only.
func (w *Words) memberConf(line func(string, any), out *bytes.Buffer) {
	q, self := w.Membership(), w.OwnLine()
	line("initLimit", q.InitLimit)
	line("syncLimit", q.SyncLimit)
	line("electionAlg", 3)
	line("electionPort", joinPorts(self.Addresses, func(a config.PeerAddress) int { return a.ElectionPort }))
	line("quorumPort", joinPorts(self.Addresses, func(a config.PeerAddress) int { return a.QuorumPort }))
	line("peerType", int(self.Role))
	if !w.ReadOnly() {
		fmt.Fprintf(out, "membership: \n%s", w.EnsembleText())
	}
}

func joinPorts(all []config.PeerAddress, port func(config.PeerAddress) int) string {
	var ports []string
	for _, a := range all {
		ports = append(ports, strconv.Itoa(port(a)))
	}
	return strings.Join(ports, "|")
}
