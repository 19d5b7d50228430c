package shell

import (
	"cmp"
	"strconv"

	"github.com/seed94657493/warren/client"
)

// event is a watch event, or a change of the session's state, as zkCli.sh prints it: with the state of the
// connection, and with null for the path of the latter. Source: operations 5.2.
type event struct {
	State string `json:"state"`
	Type  string `json:"type"`
	Path  string `json:"path,omitempty"`
	Zxid  string `json:"zxid,omitempty"` // hex; "" if the server did not say

	zxid client.Zxid
}

func newEvent(state, kind, path string, zxid client.Zxid) event {
	e := event{State: state, Type: kind, Path: path, zxid: zxid}
	if zxid > 0 {
		e.Zxid = hexZxid(zxid)
	}
	return e
}

func (e event) appendText(b []byte, c colours) []byte {
	path := c.name(e.Path)
	path = cmp.Or(path, "null")
	b = append(b, "\nWATCHER::\n\n"...)
	b = append(b, c.yellow("WatchedEvent state:"+e.State+" type:"+e.Type+" path:"+path)...)
	b = append(b, " zxid: "...)
	b = strconv.AppendInt(b, int64(e.zxid), 10)
	return append(b, '\n')
}

// stateName is what Java's client calls a state in an event, "" for those it has no event for.
func stateName(st client.State) string {
	switch st {
	case client.Connected:
		return "SyncConnected"
	case client.ConnectedReadOnly:
		return "ConnectedReadOnly"
	case client.Disconnected:
		return "Disconnected"
	case client.Expired:
		return "Expired"
	case client.AuthFailed:
		return "AuthFailed"
	case client.Closed:
		return "Closed"
	}
	return ""
}

// stateLine tells a state of the session to who types commands.
type stateLine client.State

func (l stateLine) appendText(b []byte, c colours) []byte {
	text := "the session is closed"
	switch client.State(l) {
	case client.Connected:
		text = "connected"
	case client.ConnectedReadOnly:
		text = "connected to a server without a quorum: reads only"
	case client.Disconnected:
		text = "disconnected"
	case client.Expired:
		text = "the session has expired"
	case client.AuthFailed:
		text = "the servers refuse the identity of this session"
	}
	return append(append(b, c.dim(text)...), '\n')
}

// promptState is what zkCli.sh's prompt calls a state.
func promptState(st client.State) string {
	switch st {
	case client.Connected:
		return "CONNECTED"
	case client.ConnectedReadOnly:
		return "CONNECTEDREADONLY"
	case client.AuthFailed:
		return "AUTH_FAILED"
	case client.Expired, client.Closed:
		return "CLOSED"
	}
	return "CONNECTING"
}
