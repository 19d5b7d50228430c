package files

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal"
)

// txnRecord is a txn as it is printed.
type txnRecord struct {
	Time    string   `json:"time"`
	Session string   `json:"session"`
	Cxid    int32    `json:"cxid"`
	Zxid    string   `json:"zxid"`
	Type    string   `json:"type"`
	Path    string   `json:"path,omitempty"`
	Size    int      `json:"size"`                 // of the payload
	Data    *int     `json:"dataLength,omitempty"` // -1 is null
	ACL     []string `json:"acl,omitempty"`
	Version *int32   `json:"version,omitempty"`
	Timeout *int32   `json:"timeoutMs,omitempty"`
	TTL     int64    `json:"ttlMs,omitempty"`
	IsEphem bool     `json:"ephemeral,omitempty"`
	Err     string   `json:"error,omitempty"`
	Paths   []string `json:"paths,omitempty"` // a closed session's ephemerals
	Ops     []string `json:"ops,omitempty"`   // of a multi
	Digest  *int64   `json:"digest,omitempty"`
	File    string   `json:"file"`
	Offset  int64    `json:"offset"`
}

// newTxnRecord decodes what it can of a payload; a body that it cannot decode is only counted.
func newTxnRecord(r *wal.Record) *txnRecord {
	in := proto.NewReader(r.Payload)
	h := decoded[proto.TxnHeader](&in)
	t := &txnRecord{Time: cli.Clock(h.Time), Session: h.ClientID.String(), Cxid: h.Cxid, Zxid: h.Zxid.String(),
		Type: h.Type.String(), Size: len(r.Payload), File: r.File, Offset: r.Offset}
	if t.body(h.Type, &in); in.Err() != nil {
		t.Err = "the body cannot be decoded: " + in.Err().Error()
		return t
	}
	if in.Len() >= proto.TxnDigestSize {
		d := decoded[proto.TxnDigest](&in)
		t.Digest = &d.TreeDigest
	}
	return t
}

func (t *txnRecord) body(op proto.OpCode, in *proto.Reader) {
	data := func(b []byte) *int {
		n := len(b)
		if b == nil {
			n = -1
		}
		return &n
	}
	switch op {
	case proto.OpCreate, proto.OpCreate2:
		b := decoded[proto.CreateTxn](in)
		t.Path, t.Data, t.ACL, t.IsEphem = b.Path.String(), data(b.Data), aclTexts(b.Acl), b.Ephemeral
	case proto.OpCreateContainer:
		b := decoded[proto.CreateContainerTxn](in)
		t.Path, t.Data, t.ACL = b.Path.String(), data(b.Data), aclTexts(b.Acl)
	case proto.OpCreateTTL:
		b := decoded[proto.CreateTTLTxn](in)
		t.Path, t.Data, t.ACL, t.TTL = b.Path.String(), data(b.Data), aclTexts(b.Acl), b.Ttl
	case proto.OpDelete, proto.OpDeleteContainer:
		b := decoded[proto.DeleteTxn](in)
		t.Path = b.Path.String()
	case proto.OpSetData, proto.OpReconfig:
		b := decoded[proto.SetDataTxn](in)
		t.Path, t.Data, t.Version = b.Path.String(), data(b.Data), &b.Version
	case proto.OpSetACL:
		b := decoded[proto.SetACLTxn](in)
		t.Path, t.ACL, t.Version = b.Path.String(), aclTexts(b.Acl), &b.Version
	case proto.OpCheck:
		b := decoded[proto.CheckVersionTxn](in)
		t.Path, t.Version = b.Path.String(), &b.Version
	case proto.OpCreateSession:
		b := decoded[proto.CreateSessionTxn](in)
		t.Timeout = &b.TimeOut
	case proto.OpCloseSession:
		var b proto.CloseSessionTxn
		b.DecodeList(in)
		for _, p := range b.Paths2Delete {
			t.Paths = append(t.Paths, p.String())
		}
	case proto.OpError:
		b := decoded[proto.ErrorTxn](in)
		t.Err = b.Err.Name()
	case proto.OpMulti:
		b := decoded[proto.MultiTxn](in)
		for _, op := range b.Txns {
			var sub txnRecord
			body := proto.NewReader(op.Data)
			sub.body(op.Type, &body)
			t.Ops = append(t.Ops, strings.TrimSpace(op.Type.String()+" "+cli.Printable(sub.Path)+sub.Err))
		}
	}
}

// decoded decodes a part of a txn.
func decoded[T any, P interface {
	*T
	Decode(in *proto.Reader)
}](in *proto.Reader) (part T) {
	P(&part).Decode(in)
	return part
}

// simple returns the txn as one line.
func (t *txnRecord) simple() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s session=%s cxid=%d zxid=%s %s", t.Time, t.Session, t.Cxid, t.Zxid, t.Type)
	if t.Path != "" {
		b.WriteString(" " + cli.Printable(t.Path))
	}
	fmt.Fprintf(&b, " size=%d", t.Size)
	if t.Data != nil {
		fmt.Fprintf(&b, " data=%d", *t.Data)
	}
	if t.Version != nil {
		fmt.Fprintf(&b, " version=%d", *t.Version)
	}
	if t.Timeout != nil {
		fmt.Fprintf(&b, " timeoutMs=%d", *t.Timeout)
	}
	if t.IsEphem {
		b.WriteString(" ephemeral")
	}
	if t.TTL != 0 {
		fmt.Fprintf(&b, " ttlMs=%d", t.TTL)
	}
	if t.Err != "" {
		fmt.Fprintf(&b, " error=%s", cli.Printable(t.Err))
	}
	for _, p := range t.Paths {
		b.WriteString(" delete=" + cli.Printable(p))
	}
	for _, op := range t.Ops {
		b.WriteString(" [" + op + "]")
	}
	if t.Digest != nil {
		fmt.Fprintf(&b, " digest=%d", *t.Digest)
	}
	b.WriteByte('\n')
	return b.String()
}

// txnPrinter prints txns.
type txnPrinter struct {
	out    *bufio.Writer
	output string
	line   []byte // reused
	txns   int    // of the file that is being printed
}

func newTxnPrinter(w io.Writer, output string) *txnPrinter {
	return &txnPrinter{out: bufio.NewWriterSize(w, 64<<10), output: output}
}

func (p *txnPrinter) print(r *wal.Record) (err error) {
	p.txns++
	switch p.output {
	case "json":
		return json.NewEncoder(p.out).Encode(newTxnRecord(r))
	case "toolkit":
		p.line = ToolkitLine(p.line[:0], r)
		_, err = p.out.Write(p.line)
	default:
		_, err = p.out.WriteString(newTxnRecord(r).simple())
	}
	return err
}

// begin and end print what TxnLogToolkit says before and after a file.
func (p *txnPrinter) begin() {
	if p.txns = 0; p.output == "toolkit" {
		p.out.WriteString("ZooKeeper Transactional Log File with dbid 0 txnlog format version 2\n")
	}
}

func (p *txnPrinter) end() {
	if p.output == "toolkit" {
		fmt.Fprintf(p.out, "EOF reached after %d txns.\n", p.txns)
	}
}

func (p *txnPrinter) flush() error { return p.out.Flush() }

// print prints the outcome of verify.
func (v *walVerdict) print(w io.Writer, output string) error {
	out := bufio.NewWriter(w)
	if output == "json" {
		if err := json.NewEncoder(out).Encode(v); err != nil {
			return err
		}
		return out.Flush()
	}
	for _, f := range v.Files {
		fmt.Fprintf(out, "%s: %s from %s to %s, %d bytes, %d of them behind the last txn\n",
			f.Name, wording.Count(f.Records, "txn"), f.First, f.Last, f.Size, f.Padding)
	}
	fmt.Fprintf(out, "newest snapshot: %s\n", v.Snapshot)
	if v.Replayed > 0 {
		fmt.Fprintf(out, "to replay: %s from %s to %s\n", wording.Count(v.Replayed, "txn"), v.First, v.Last)
	} else {
		fmt.Fprintf(out, "to replay: nothing\n")
	}
	for _, r := range v.Repairs {
		fmt.Fprintf(out, "will be done at start: %s\n", r)
	}
	for _, r := range v.Repeated {
		fmt.Fprintf(out, "note: %s\n", r)
	}
	for _, p := range v.Problems {
		kind := "a server would refuse to start"
		if !p.Needed {
			kind = "damaged, but not needed after the newest snapshot"
		}
		fmt.Fprintf(out, "PROBLEM: %s: ", kind)
		if p.File != "" {
			fmt.Fprintf(out, "%s at offset %d, zxid %s: ", p.File, p.Offset, p.Zxid)
		}
		fmt.Fprintf(out, "%s\n", p.Error)
		if p.Remedy != "" {
			fmt.Fprintf(out, "what to do: %s\n", p.Remedy)
		}
	}
	if len(v.Problems) == 0 {
		fmt.Fprintln(out, "ok")
	}
	return out.Flush()
}
