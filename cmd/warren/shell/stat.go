package shell

import (
	"fmt"
	"strconv"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/internal/znodetext"
)

// javaDate is how Java prints a Date.
const javaDate = "Mon Jan 02 15:04:05 MST 2006"

// appendStat appends the block of a Stat, in which the order of the lines is fixed. Source: operations 5.5.
func appendStat(b []byte, st *client.Stat, c colours) []byte {
	line := func(name, value string) {
		b = append(append(append(b, c.dim(name+" = ")...), value...), '\n')
	}
	date := func(ms int64) string { return time.UnixMilli(ms).Format(javaDate) }
	hex := func(v int64) string { return "0x" + strconv.FormatUint(uint64(v), 16) }
	decimal := func(v int32) string { return strconv.Itoa(int(v)) }
	line("cZxid", hex(int64(st.Czxid)))
	line("ctime", date(st.Ctime))
	line("mZxid", hex(int64(st.Mzxid)))
	line("mtime", date(st.Mtime))
	line("pZxid", hex(int64(st.Pzxid)))
	line("cversion", decimal(st.Cversion))
	line("dataVersion", decimal(st.Version))
	line("aclVersion", decimal(st.Aversion))
	line("ephemeralOwner", hex(int64(st.EphemeralOwner)))
	line("dataLength", decimal(st.DataLength))
	line("numChildren", decimal(st.NumChildren))
	return b
}

// statJSON is a Stat in JSON, under zkCli.sh's names. Zxids and the owner are hex, because JSON's numbers are too
// small for them.
type statJSON struct {
	Czxid          string `json:"cZxid"`
	Ctime          string `json:"ctime"`
	Mzxid          string `json:"mZxid"`
	Mtime          string `json:"mtime"`
	Pzxid          string `json:"pZxid"`
	Cversion       int32  `json:"cversion"`
	DataVersion    int32  `json:"dataVersion"`
	ACLVersion     int32  `json:"aclVersion"`
	EphemeralOwner string `json:"ephemeralOwner"`
	DataLength     int32  `json:"dataLength"`
	NumChildren    int32  `json:"numChildren"`
}

func newStatJSON(st *client.Stat) *statJSON {
	if st == nil {
		return nil
	}
	date := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
	return &statJSON{hexZxid(st.Czxid), date(st.Ctime), hexZxid(st.Mzxid), date(st.Mtime), hexZxid(st.Pzxid),
		st.Cversion, st.Version, st.Aversion, fmt.Sprintf("0x%x", uint64(st.EphemeralOwner)),
		st.DataLength, st.NumChildren}
}

func hexZxid(z client.Zxid) string { return fmt.Sprintf("0x%x", uint64(z)) }

// kindOf returns what kind of znode has such a Stat. Servers show containers and TTL znodes as persistent. Source:
// client-protocol 7.
func kindOf(st *client.Stat) string {
	if st.EphemeralOwner != 0 {
		return znodetext.Ephemeral
	}
	return znodetext.Persistent
}
