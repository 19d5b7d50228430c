package sim

// Linearizable writes: the order of zxids is one in which every write stands between its call and its answer. That
// there is one order, agreement.go sees; here a write that was asked for after another was acknowledged must come
// after it.
func (s *Sim) checkRealTime(r request) {
	if r.txn.Zxid <= r.after {
		s.fail("LinearizableWrites", "the write %x has zxid %v, but %v was acknowledged before it was asked for",
			r.txn.Payload, r.txn.Zxid, r.after)
	}
}
