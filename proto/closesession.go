package proto

// DecodeList decodes what follows the header of a closeSession txn, if that is a list of paths. It is none, and nothing is read, where the
// server that wrote it keeps no lists: one before 3.6, or one with closeSessionTxn.enabled=false. A digest follows then, or nothing. Such a
// server that is sent a list takes the first twelve bytes of what it is sent for a digest, and writes no more than those to its log, and
// to servers that follow it. Source: quorum-protocol sections 9.1 and 9.2, and the behaviour of ZooKeeper 3.8.
func (v *CloseSessionTxn) DecodeList(r *Reader) bool {
	if r.Len() == 0 {
		return false
	}
	start := *r
	if r.Len() == TxnDigestSize {
		if r.Int32() == DigestVersion { // as a list, two paths in eight bytes: empty ones, which do not occur
			*r = start
			return false
		}
		*r = start
	}
	v.Decode(r)
	if r.Err() != nil && start.Len() == TxnDigestSize {
		*r = start
		v.Paths2Delete = v.Paths2Delete[:0]
		return false
	}
	return true
}
