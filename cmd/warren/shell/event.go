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
		e.Zxid = zxid.String()
	}
	return e
}

func (e event) appendText(b []byte, c colours) []byte {
	path := cmp.Or(c.name(e.Path), "null")
	b = append(b, "\nWATCHER::\n\n"...)
	b = append(b, c.yellow("WatchedEvent state:"+e.State+" type:"+e.Type+" path:"+path)...)
	b = append(b, " zxid: "...)
	b = strconv.AppendInt(b, int64(e.zxid), 10)
	return append(b, '\n')
}

// sessionStates are the words for each state of a session: what Java's client calls it in an event, what it means to
// who types commands, and what the prompt of zkCli.sh calls it.
var sessionStates = map[client.State]struct{ event, meaning, prompt string }{
	client.Connected: {"SyncConnected", "connected", "CONNECTED"},
	client.ConnectedReadOnly: {"ConnectedReadOnly", "connected to a server without a quorum: reads only",
		"CONNECTEDREADONLY"},
	client.Disconnected: {"Disconnected", "disconnected", "CONNECTING"},
	client.Expired:      {"Expired", "the session has expired", "CLOSED"},
	client.AuthFailed:   {"AuthFailed", "the servers refuse the identity of this session", "AUTH_FAILED"},
	client.Closed:       {"Closed", "the session is closed", "CLOSED"},
}

// stateName is what Java's client calls a state in an event, "" for those it has no event for.
func stateName(st client.State) string { return sessionStates[st].event }

// stateLine tells a state of the session to who types commands.
type stateLine client.State

func (l stateLine) appendText(b []byte, c colours) []byte {
	return append(append(b, c.dim(sessionStates[client.State(l)].meaning)...), '\n')
}

// promptState is what zkCli.sh's prompt calls a state.
func promptState(st client.State) string { return cmp.Or(sessionStates[st].prompt, "CONNECTING") }
