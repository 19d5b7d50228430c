package host

import "github.com/seed94657493/warren/proto"

// reach is how far this server knows the history. Owned by the host goroutine.
type reach struct {
	committed proto.Zxid // the newest that the present leader has told to be committed
	seen      proto.Zxid // the newest that it has sent, committed or not
	delivered proto.Zxid // the newest handed to the applier; TRUNC and SNAP lower it
}

// told is called with a zxid that the leader says is committed.
func (r *reach) told(z proto.Zxid) {
	r.committed, r.seen = max(r.committed, z), max(r.seen, z)
}

// cut is called when the log is cut, or the state replaced: it ends with z, if it reached beyond.
func (r *reach) cut(z proto.Zxid) { r.delivered = min(r.delivered, z) }

// leaderless forgets what a leader has told of: the next one may never commit it.
func (r *reach) leaderless() { r.committed, r.seen = 0, 0 }

// serves is called when a role begins on a state that ends with z.
func (r *reach) serves(z proto.Zxid) {
	r.delivered = max(r.delivered, z)
	r.told(r.delivered)
}
