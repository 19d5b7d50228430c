package files

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/snapshot"
)

// javaDate prints a time as Java's Date.toString does, in the local time zone.
func javaDate(ms int64) string { return time.UnixMilli(ms).Format("Mon Jan 02 15:04:05 MST 2006") }

// toolkitDump prints a snapshot as zkSnapShotToolkit does; the znodes come in the order of the file, not of a hash
// table. It is a snapshot.Sink. Source: operations 6.5.
type toolkitDump struct {
	w        *bufio.Writer
	withData bool
	sessions []proto.SessionID
	timeouts map[proto.SessionID]int32
	owned    map[proto.SessionID]int // ephemerals
}

// printToolkitDump reads the file twice: the number of znodes comes before them.
func printToolkitDump(w io.Writer, file string, withData bool) error {
	var count znodeCount
	if _, err := load(file, &count); err != nil {
		return err
	}
	d := &toolkitDump{w: bufio.NewWriterSize(w, 64<<10), withData: withData,
		timeouts: map[proto.SessionID]int32{}, owned: map[proto.SessionID]int{}}
	fmt.Fprintf(d.w, "ZNode Details (count=%d):\n", count+1) // the root is counted twice, as mntr does
	trailer, err := load(file, d)
	if err != nil {
		return err
	}
	fmt.Fprint(d.w, "----\nSession Details (sid, timeout, ephemeralCount):\n")
	for _, id := range d.sessions {
		fmt.Fprintf(d.w, "0x%014x, %d, %d\n", uint64(id), d.timeouts[id], d.owned[id])
	}
	last := trailer.LastZxid
	if zxid, _, ok := snapshot.ParseName(filepath.Base(file)); ok && !trailer.HasLastZxid {
		last = zxid
	}
	fmt.Fprintf(d.w, "----\nLast zxid: 0x%x\n", uint64(last))
	if trailer.HasDigest && trailer.HasLastZxid {
		fmt.Fprintf(d.w, "Target zxid digest is: ZxidDigest{zxid=0x%x, digestVersion=%d, digest=%d}\n",
			uint64(trailer.DigestZxid), trailer.DigestVersion, trailer.Digest)
	}
	return d.w.Flush()
}

func (d *toolkitDump) Session(id proto.SessionID, timeoutMs int32) error {
	d.sessions = append(d.sessions, id)
	d.timeouts[id] = timeoutMs
	return nil
}

func (d *toolkitDump) ACL(int64, []proto.ACL) error { return nil }

func (d *toolkitDump) Node(path, data []byte, _ int64, st *proto.StatPersisted) error {
	if proto.IsSessionOwner(st.EphemeralOwner) {
		d.owned[st.EphemeralOwner]++
	}
	fmt.Fprintf(d.w, "----\n%s\n  cZxid = 0x%014x\n  ctime = %s\n  mZxid = 0x%014x\n  mtime = %s\n  pZxid = 0x%014x\n"+
		"  cversion = %d\n  dataVersion = %d\n  aclVersion = %d\n  ephemeralOwner = 0x%014x\n",
		cmp.Or(string(path), "/"), uint64(st.Czxid), javaDate(st.Ctime), uint64(st.Mzxid), javaDate(st.Mtime),
		uint64(st.Pzxid), st.Cversion, st.Version, st.Aversion, uint64(st.EphemeralOwner))
	if d.withData {
		_, err := fmt.Fprintf(d.w, "  data = %s\n", base64.StdEncoding.EncodeToString(data))
		return err
	}
	_, err := fmt.Fprintf(d.w, "  dataLength = %d\n", len(data))
	return err
}

// znodeCount is a snapshot.Sink that counts znodes.
type znodeCount int

func (*znodeCount) Session(proto.SessionID, int32) error { return nil }

func (*znodeCount) ACL(int64, []proto.ACL) error { return nil }

func (n *znodeCount) Node([]byte, []byte, int64, *proto.StatPersisted) error { *n++; return nil }
