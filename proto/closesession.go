package proto

// DecodeList decodes what follows the header of a closeSession txn, if that is a list of paths. It is none where the server that wrote it
// keeps no lists: one before 3.6, or one with closeSessionTxn.enabled=false. A digest follows then, which is left to read, or nothing. Such
// a server that is sent a list takes the first twelve bytes of what it is sent for a digest, and writes no more than those to its log, and
// to servers that follow it: those are stepped over. Source: quorum-protocol 9.1 and 9.2, and the behaviour of ZooKeeper 3.8.
func (v *CloseSessionTxn) DecodeList(r *Reader) bool {
	if r.Len() == 0 {
		return false
	}
	start := *r
	if r.Len() != TxnDigestSize {
		v.Decode(r)
		return true
	}
	count, length, first := r.Int32(), r.Int32(), r.Int32()
	isListCut := count > 0 && length > 0 && first>>24 == '/' // one digest in 256 at most looks so, and is not compared
	switch {
	case count == DigestVersion: // as a whole list, two paths in eight bytes: empty ones, which do not occur
		if !isListCut {
			*r = start
		}
		return false
	case isListCut && (count > 1 || length > 4):
		return false
	}
	*r = start
	v.Decode(r)
	return true
}
