package proto

// multiEnd is the terminator of a multi request or reply.
var multiEnd = MultiHeader{Type: -1, Done: true, Err: -1}

// AppendMultiOp appends the header of one operation of a multi request; the operation's own
// record follows. Source: client-protocol 6.1.
func AppendMultiOp(b []byte, op OpCode) []byte {
	h := MultiHeader{Type: op, Err: -1}
	return h.AppendTo(b)
}

// AppendMultiResult appends the header of one successful slot of a multi reply; the slot's body
// follows. Source: client-protocol 6.3.
func AppendMultiResult(b []byte, op OpCode) []byte {
	h := MultiHeader{Type: op}
	return h.AppendTo(b)
}

// AppendMultiError appends a failed slot of a multi reply: its header and its body.
func AppendMultiError(b []byte, err ErrCode) []byte {
	h := MultiHeader{Type: -1, Err: err}
	b = h.AppendTo(b)
	return AppendInt32(b, int32(err))
}

// AppendMultiEnd appends the terminator.
func AppendMultiEnd(b []byte) []byte { return multiEnd.AppendTo(b) }

// MultiReader walks the operations of a multi request or the slots of a multi reply. After each
// Next the caller decodes the element's record from R, which continues where the record ended.
type MultiReader struct {
	R Reader
}

// NewMultiReader returns a MultiReader over the body of a multi, without its RequestHeader or
// ReplyHeader.
func NewMultiReader(b []byte) MultiReader { return MultiReader{R: NewReader(b)} }

// Next decodes the next header. ok is false at the terminator, whose fields are ignored, and on
// an error, which R.Err then returns.
func (m *MultiReader) Next() (h MultiHeader, ok bool) {
	h.Decode(&m.R)
	if m.R.Err() != nil || h.Done {
		return h, false
	}
	return h, true
}
