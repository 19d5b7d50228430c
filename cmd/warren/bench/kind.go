package bench

// Kind is what one request of a load does. A load chooses among kinds by weight.
type Kind uint8

// The kinds of requests.
const (
	Get       Kind = iota // getData of a shared znode
	Set                   // setData of a shared znode, any version
	Create                // create of a persistent znode under the connection's own parent
	CreateSeq             // the same with a sequence suffix chosen by the server
	Ephemeral             // create of an ephemeral znode under the connection's own parent
	Exists                // exists of a shared znode
	Children              // getChildren2 of a directory of shared znodes
	Delete                // delete of the oldest znode this connection created; creates one if it has none
	Multi                 // one multi: create a znode, set a shared one, delete the created one
	Sync                  // sync of a shared znode
	Watch                 // getData of a shared znode with a watch
	kindCount
)

var kindNames = [kindCount]string{"get", "set", "create", "seq", "ephemeral", "exists", "children", "delete",
	"multi", "sync", "watch"}

// String returns the name used in --mix and in reports.
func (k Kind) String() string { return kindNames[k] }
