package shell

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/seed94657493/warren/client"
	"github.com/seed94657493/warren/internal/znodetext"
)

// javaDate is how Java prints a Date.
const javaDate = "Mon Jan 02 15:04:05 MST 2006"

// shownStat is a Stat in a result: a block of text, or JSON.
type shownStat client.Stat

// appendText appends the block, in which the order of the lines is fixed; nothing for nil. Source: operations 5.5.
func (st *shownStat) appendText(b []byte, c colours) []byte {
	if st == nil {
		return b
	}
	line := func(name, value string) {
		b = append(append(append(b, c.dim(name+" = ")...), value...), '\n')
	}
	date := func(ms int64) string { return time.UnixMilli(ms).Format(javaDate) }
	decimal := func(v int32) string { return strconv.Itoa(int(v)) }
	line("cZxid", st.Czxid.String())
	line("ctime", date(st.Ctime))
	line("mZxid", st.Mzxid.String())
	line("mtime", date(st.Mtime))
	line("pZxid", st.Pzxid.String())
	line("cversion", decimal(st.Cversion))
	line("dataVersion", decimal(st.Version))
	line("aclVersion", decimal(st.Aversion))
	line("ephemeralOwner", st.EphemeralOwner.String())
	line("dataLength", decimal(st.DataLength))
	line("numChildren", decimal(st.NumChildren))
	return b
}

// MarshalJSON has zkCli.sh's names. Zxids and the owner are hex, because JSON's numbers are too small for them.
func (st *shownStat) MarshalJSON() ([]byte, error) {
	date := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
	return json.Marshal(struct {
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
	}{st.Czxid.String(), date(st.Ctime), st.Mzxid.String(), date(st.Mtime), st.Pzxid.String(),
		st.Cversion, st.Version, st.Aversion, st.EphemeralOwner.String(), st.DataLength, st.NumChildren})
}

// kindOf returns what kind of znode has such a Stat. Servers show containers and TTL znodes as persistent. Source:
// client-protocol 7.
func kindOf(st *client.Stat) string {
	if st.EphemeralOwner != 0 {
		return znodetext.Ephemeral
	}
	return znodetext.Persistent
}
