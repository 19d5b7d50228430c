package files

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/wal"
)

// javaClock prints a time as Java's short date and medium time do in an English locale, in the local time zone.
func javaClock(ms int64) string { return time.UnixMilli(ms).Format("1/2/06, 3:04:05 PM MST") }

// ToolkitLine prints a txn as TxnLogToolkit does, byte for byte but for the words that changed between releases: here
// they are those of 3.9. Source: operations 6.4.
func ToolkitLine(b []byte, r *wal.Record) []byte {
	in := proto.NewReader(r.Payload)
	h := decoded[proto.TxnHeader](&in)
	b = fmt.Appendf(b, "%s session 0x%x cxid 0x%x zxid 0x%x %s", javaClock(h.Time), uint64(h.ClientID), h.Cxid,
		uint64(h.Zxid), h.Type)
	start := len(b)
	b = toolkitBody(append(b, ' '), h.Type, &in)
	if in.Err() != nil {
		b = b[:start]
	}
	return append(b, '\n')
}

func toolkitBody(b []byte, op proto.OpCode, in *proto.Reader) []byte {
	switch op {
	case proto.OpCreate, proto.OpCreate2:
		t := decoded[proto.CreateTxn](in)
		return fmt.Appendf(b, "%s,%s,%s,%t,%d", t.Path, javaText(t.Data), javaACL(t.Acl),
			t.Ephemeral, t.ParentCVersion)
	case proto.OpCreateContainer:
		t := decoded[proto.CreateContainerTxn](in)
		return fmt.Appendf(b, "%s,%s,%s,%d", t.Path, javaText(t.Data), javaACL(t.Acl), t.ParentCVersion)
	case proto.OpCreateTTL:
		t := decoded[proto.CreateTTLTxn](in)
		return fmt.Appendf(b, "%s,%s,%s,%d,%d", t.Path, javaText(t.Data), javaACL(t.Acl), t.ParentCVersion, t.Ttl)
	case proto.OpDelete, proto.OpDeleteContainer:
		t := decoded[proto.DeleteTxn](in)
		return append(b, csvText(t.Path)...)
	case proto.OpSetData:
		t := decoded[proto.SetDataTxn](in)
		return fmt.Appendf(b, "%s,%s,%d", t.Path, javaText(t.Data), t.Version)
	case proto.OpReconfig:
		t := decoded[proto.SetDataTxn](in)
		return fmt.Appendf(b, "%s,#%x,%d", csvText(t.Path), t.Data, t.Version)
	case proto.OpSetACL:
		t := decoded[proto.SetACLTxn](in)
		entries := make([]string, len(t.Acl))
		for i, a := range t.Acl {
			entries[i] = fmt.Sprintf("s{%d,s{%s,%s}}", a.Perms, csvText(a.Id.Scheme), csvText(a.Id.Id))
		}
		return fmt.Appendf(b, "%s,v{%s},%d", csvText(t.Path), strings.Join(entries, ","), t.Version)
	case proto.OpCheck:
		t := decoded[proto.CheckVersionTxn](in)
		return fmt.Appendf(b, "%s,%d", csvText(t.Path), t.Version)
	case proto.OpCreateSession:
		t := decoded[proto.CreateSessionTxn](in)
		return fmt.Appendf(b, "%d", t.TimeOut)
	case proto.OpCloseSession:
		var t proto.CloseSessionTxn
		if !t.DecodeList(in) {
			return b[:len(b)-1]
		}
		paths := make([]string, len(t.Paths2Delete))
		for i, p := range t.Paths2Delete {
			paths[i] = csvText(p)
		}
		return fmt.Appendf(b, "v{%s}", strings.Join(paths, ","))
	case proto.OpError:
		t := decoded[proto.ErrorTxn](in)
		return fmt.Appendf(b, "%d", int32(t.Err))
	case proto.OpMulti:
		t := decoded[proto.MultiTxn](in)
		for i, sub := range t.Txns {
			if i > 0 {
				b = append(b, ';')
			}
			b = fmt.Appendf(b, "%s:%s", sub.Type, javaText(sub.Data))
		}
	}
	return b
}

// javaText returns data as new String(data, UTF_8) prints it: bytes that are no UTF-8 become U+FFFD.
func javaText(data []byte) string {
	var b strings.Builder
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		b.WriteRune(r)
		data = data[n:]
	}
	return b.String()
}

// javaACL prints a list of ACL entries, each of which ends in a line feed, as Java's records print themselves.
func javaACL(list []proto.ACL) string {
	entries := make([]string, len(list))
	for i, a := range list {
		entries[i] = fmt.Sprintf("%d,s{%s,%s}\n", a.Perms, csvText(a.Id.Scheme), csvText(a.Id.Id))
	}
	return "[" + strings.Join(entries, ", ") + "]"
}

// csvEscapes are what jute writes for characters that would spoil a list.
var csvEscapes = strings.NewReplacer("\x00", "%00", "\n", "%0A", "\r", "%0D", ",", "%2C", "}", "%7D", "%", "%25")

// csvText returns a string as jute prints it in a list of values.
func csvText(t proto.Text) string {
	if t == nil {
		return ""
	}
	return "'" + csvEscapes.Replace(t.String())
}
