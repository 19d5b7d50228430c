package visible

import (
	"github.com/seed94657493/warren/server/internal/audit"
)

// Audit is the end of the audit log of this server.
type Audit struct {
	Enabled bool         `json:"enabled" doc:"audit.enable"`
	File    string       `json:"file" doc:"audit.file; - is standard output, which cannot be read again"`
	Entries []AuditEntry `json:"entries" doc:"the newest first"`
}

// AuditEntry is a line of the audit log.
type AuditEntry struct {
	At        int64  `json:"at" doc:"ms since 1970; 0 if the line does not tell"`
	User      string `json:"user" doc:"names of the client's identities, or of the process"`
	IP        string `json:"ip" doc:"address of the client; empty for what the server did itself"`
	Session   string `json:"session" doc:"of the client, hexadecimal"`
	Operation string `json:"operation" doc:"as ZooKeeper names it"`
	Znode     string `json:"znode" doc:"path of the znode, with control characters escaped; empty if the line has none"`
	Result    string `json:"result" doc:"success, failure, or invoked if the outcome is not known"`
	Detail    string `json:"detail" doc:"the other fields"`
}

// Audit returns the newest lines of the audit log, at most so many.
func (n *Shown) Audit(a Actor, most int) (*Audit, error) {
	if err := n.MaySeeAll(a); err != nil {
		return nil, err
	}
	c := n.Config.Audit
	all := &Audit{Enabled: c.Enabled, File: c.File, Entries: []AuditEntry{}}
	if !c.Enabled || c.File == "-" {
		return all, nil
	}
	lines, err := audit.Tail(n.FS, c.File, most)
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		all.Entries = append(all.Entries, AuditEntry(l))
	}
	return all, nil
}
