package files

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/znodetext"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
)

// znodeRecord is a znode as it is printed.
type znodeRecord struct {
	Path           string   `json:"path"`
	Czxid          string   `json:"czxid"`
	Mzxid          string   `json:"mzxid"`
	Pzxid          string   `json:"pzxid"`
	Ctime          string   `json:"ctime"`
	Mtime          string   `json:"mtime"`
	Version        int32    `json:"version"`
	Cversion       int32    `json:"cversion"` // as stored: children ever created
	Aversion       int32    `json:"aversion"`
	EphemeralOwner string   `json:"ephemeralOwner"`
	DataLength     int      `json:"dataLength"`
	ACLKey         int64    `json:"aclKey"`
	NumChildren    *int     `json:"numChildren,omitempty"` // only where it was counted
	ACL            []string `json:"acl,omitempty"`         // only where it was looked up
	IsNull         bool     `json:"dataIsNull,omitempty"`
	Data           []byte   `json:"data,omitempty"`
}

func newZnodeRecord(path, data []byte, aclKey int64, st *proto.StatPersisted) *znodeRecord {
	return &znodeRecord{
		Path: cmp.Or(string(path), "/"), Czxid: st.Czxid.String(), Mzxid: st.Mzxid.String(), Pzxid: st.Pzxid.String(),
		Ctime: cli.Clock(st.Ctime), Mtime: cli.Clock(st.Mtime), Version: st.Version, Cversion: st.Cversion,
		Aversion: st.Aversion, EphemeralOwner: st.EphemeralOwner.String(), ACLKey: aclKey,
		DataLength: len(data), IsNull: data == nil, Data: data,
	}
}

// printableACL returns the texts of a list for a line. Who may write an ACL may put anything into an id.
func printableACL(texts []string) string {
	printable := make([]string, len(texts))
	for i, text := range texts {
		printable[i] = cli.Printable(text)
	}
	return strings.Join(printable, ",")
}

// aclTexts returns the entries of an ACL in the form of ZooKeeper's shell.
func aclTexts(list []proto.ACL) []string {
	texts := make([]string, len(list))
	for i, a := range list {
		texts[i] = fmt.Sprintf("%s:%s:%s", a.Id.Scheme, a.Id.Id, znodetext.Perms(a.Perms))
	}
	return texts
}

// recordPrinter prints what a snapshot holds, one line a record. It is a snapshot.Sink.
type recordPrinter struct {
	w        *bufio.Writer
	json     *json.Encoder // nil: text
	withData bool
}

func newRecordPrinter(w io.Writer, output string, withData bool) *recordPrinter {
	p := &recordPrinter{w: bufio.NewWriterSize(w, 64<<10), withData: withData}
	if output == "json" {
		p.json = json.NewEncoder(p.w)
		p.json.SetEscapeHTML(false)
	}
	return p
}

func (p *recordPrinter) flush() error { return p.w.Flush() }

// line prints either form of a record.
func (p *recordPrinter) line(object any, format string, args ...any) error {
	if p.json != nil {
		return p.json.Encode(object)
	}
	return cli.Printf(p.w, format+"\n", args...)
}

func (p *recordPrinter) Session(id proto.SessionID, timeoutMs int32) error {
	return p.line(map[string]any{"session": id.String(), "timeoutMs": timeoutMs},
		"session %v timeoutMs=%d", id, timeoutMs)
}

func (p *recordPrinter) ACL(key int64, list []proto.ACL) error {
	texts := aclTexts(list)
	return p.line(map[string]any{"aclKey": key, "acl": texts}, "acl %d %s", key, printableACL(texts))
}

func (p *recordPrinter) Node(path, data []byte, aclKey int64, st *proto.StatPersisted) error {
	return p.znode(newZnodeRecord(path, data, aclKey, st))
}

func (p *recordPrinter) znode(z *znodeRecord) error {
	if p.json != nil {
		if !p.withData {
			z.Data = nil
		}
		return p.json.Encode(z)
	}
	fmt.Fprintf(p.w,
		"znode %s czxid=%s mzxid=%s pzxid=%s ctime=%s mtime=%s version=%d cversion=%d aversion=%d owner=%s acl=%d",
		cli.Printable(z.Path), z.Czxid, z.Mzxid, z.Pzxid, z.Ctime, z.Mtime, z.Version, z.Cversion, z.Aversion,
		z.EphemeralOwner, z.ACLKey)
	if z.ACL != nil {
		fmt.Fprintf(p.w, "=%s", printableACL(z.ACL))
	}
	if z.NumChildren != nil {
		fmt.Fprintf(p.w, " children=%d", *z.NumChildren)
	}
	switch {
	case z.IsNull:
		fmt.Fprint(p.w, " data=null")
	case p.withData:
		fmt.Fprintf(p.w, " data=%d:%q", z.DataLength, z.Data)
	default:
		fmt.Fprintf(p.w, " data=%d", z.DataLength)
	}
	return p.w.WriteByte('\n')
}

func trailerFields(t snapshot.Trailer) map[string]any {
	fields := map[string]any{}
	if t.HasDigest {
		fields["digestZxid"] = t.DigestZxid.String()
		fields["digestVersion"], fields["digest"] = t.DigestVersion, t.Digest
	}
	if t.HasLastZxid {
		fields["lastZxid"] = t.LastZxid.String()
	}
	return fields
}

func trailerText(t snapshot.Trailer) string {
	s := "no digest"
	if t.HasDigest {
		s = fmt.Sprintf("digest=%d at %v version=%d", t.Digest, t.DigestZxid, t.DigestVersion)
	}
	if t.HasLastZxid {
		s += fmt.Sprintf(" lastZxid=%v", t.LastZxid)
	}
	return s
}

// verdict prints whether a file is good.
func (p *recordPrinter) verdict(file string, t snapshot.Trailer, err error) error {
	name := filepath.Base(file)
	fields := trailerFields(t)
	fields["file"], fields["ok"] = name, err == nil
	if err != nil {
		fields["error"] = wording.Text(err)
		return p.line(fields, "%s damaged: %s", name, wording.About(name, err))
	}
	return p.line(fields, "%s ok %s", name, trailerText(t))
}
