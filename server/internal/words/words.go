package words

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/internal/ensemble"
	"github.com/seed94657493/warren/server/internal/facts"
	"github.com/seed94657493/warren/server/internal/serve"
)

// Four-letter words are plain text over the client port. Source: operations 2.

// Words answers the four-letter words. It has no state of its own.
type Words struct {
	*ensemble.Facts
	front *serve.Front
}

// New returns what answers the words of a server.
func New(f *ensemble.Facts, front *serve.Front) *Words { return &Words{f, front} }

// asker is who has sent a word: its connection, and the bytes behind the word, of which behind returns the first n, or
// nil if the client sends fewer.
type asker struct {
	conn   *serve.Conn
	behind func(n int) []byte
}

// table has every word and the method that answers it.
var table = map[string]func(*Words, asker, *bytes.Buffer){
	"ruok": (*Words).ruok,
	"srvr": (*Words).srvr,
	"stat": (*Words).stat,
	"mntr": (*Words).mntr,
	"conf": (*Words).conf,
	"cons": (*Words).cons,
	"isro": (*Words).isro,
	"dump": (*Words).dump,
	"wchs": (*Words).wchs,
	"wchc": (*Words).wchc,
	"wchp": (*Words).wchp,
	"srst": (*Words).srst,
	"crst": (*Words).crst,
	"dirs": (*Words).dirs,
	"envi": (*Words).envi,
	"gtmk": (*Words).gtmk,
	"stmk": (*Words).stmk,
	"hash": (*Words).hash,

	ensemble.RecordWord: (*Words).fact,
	ensemble.HeldWord:   (*Words).held,
	ensemble.TaskWord:   (*Words).task,
}

// unready are the words that are answered also while the server does not serve.
var unready = []string{"ruok", "envi", "isro", "gtmk", "stmk", ensemble.RecordWord, ensemble.TaskWord}

// Has implements the interface reporter of package serve.
func (w *Words) Has(word string) bool { return table[word] != nil }

// Answer implements the interface reporter of package serve.
func (w *Words) Answer(word string, c *serve.Conn, behind func(n int) []byte, out *bytes.Buffer) {
	switch {
	case !w.allows(word) && !(isOfServers(word) && w.mayHaveRecord(c.Remote.Addr())):
		out.WriteString(word + ensemble.Refused)
	case !w.TakesClients() && !slices.Contains(unready, word) && !(isOfServers(word) && w.Serving()):
		out.WriteString(facts.NotServing)
		if word != "hash" { // as in ZooKeeper
			out.WriteByte('\n')
		}
	default:
		table[word](w, asker{c, behind}, out)
	}
}

// allows reports whether the whitelist has a word; srvr is always in it, as in ZooKeeper. Those by which the servers
// of an ensemble ask each other are answered to their hosts, and to this one, whatever the whitelist says.
func (w *Words) allows(word string) bool {
	return word == "srvr" || word == "isro" && w.Config.ReadOnlyMode ||
		slices.Contains(w.Config.FourLetterWhitelist, word) || slices.Contains(w.Config.FourLetterWhitelist, "*")
}

// isOfServers reports whether a word is one by which servers ask each other.
func isOfServers(word string) bool {
	return word == ensemble.RecordWord || word == ensemble.HeldWord || word == ensemble.TaskWord
}

// mayHaveRecord reports whether a host may have what servers tell each other, whatever the whitelist says: those of
// the ensemble, and this one.
func (w *Words) mayHaveRecord(host netip.Addr) bool { return host.IsLoopback() || w.IsMember(host) }

// shownID is what the words call a session: its id if nothing can be done with that, else its label. A word is asked
// without credentials, and an id opens the session unless passwords have a secret (warren.sessionSecrets).
func (w *Words) shownID(id proto.SessionID) proto.SessionID {
	if !w.SessionIDsOpen() {
		return id
	}
	return w.front.Labels.Number(id)
}
