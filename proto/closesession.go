package proto

// DecodeList decodes the bytes after the header of a closeSession txn, if they are a list of paths. They are no
// list if the server that wrote the txn keeps no lists: a server before 3.6, or one with
// closeSessionTxn.enabled=false. Then a digest follows, which DecodeList does not read, or nothing. If such a
// server is sent a list, it takes the first twelve bytes for a digest, and writes only these to its log and to
// its followers: DecodeList skips them. Source: quorum-protocol 9.1 and 9.2, and the behaviour of ZooKeeper 3.8.
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
	isListCut := count > 0 && length > 0 && first>>24 == '/' // at most one digest in 256 looks so; it is not compared
	switch {
	case count == DigestVersion: // as a list: two paths in eight bytes, both empty, which does not occur
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
