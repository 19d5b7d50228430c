package proto

// Extensions of the client protocol, which a client offers behind its ConnectRequest and a Warren server grants behind
// its ConnectResponse. ZooKeeper ignores bytes behind a record, and a client that offers nothing is sent nothing.
// Source: extensions 1.

// ExtensionOutcomes is the extension by which a client learns what has become of requests that were not answered.
// Source: extensions 2.
const ExtensionOutcomes int32 = 1 << 0

// extensionsMagic stands before the extensions.
const extensionsMagic int32 = 0x57415258 // "WARX"

func appendExtensions(b []byte, extensions int32) []byte {
	if extensions == 0 {
		return b
	}
	return AppendInt32(AppendInt32(b, extensionsMagic), extensions)
}

// readExtensions returns 0 if other bytes follow, or none.
func readExtensions(d *Reader) int32 {
	if d.Err() != nil || d.Len() < 8 || d.Int32() != extensionsMagic {
		return 0
	}
	return d.Int32()
}

// OpOutcomes asks what has become of earlier requests of the session: an OutcomesRequest, answered by an
// OutcomesResponse. A server answers it only on a connection to which it has granted ExtensionOutcomes.
const OpOutcomes OpCode = 350

// OutcomesRequest asks for the outcomes of writes of this session.
type OutcomesRequest struct {
	After Zxid    // a txn that the session has heard of before it sent the first of these requests
	Xids  []int32 // of the requests, as they were sent
}

// AppendTo appends the encoding of v.
func (v *OutcomesRequest) AppendTo(b []byte) []byte {
	b = AppendInt64(b, int64(v.After))
	b = AppendInt32(b, int32(len(v.Xids)))
	for _, xid := range v.Xids {
		b = AppendInt32(b, xid)
	}
	return b
}

// ReadFrom decodes v.
func (v *OutcomesRequest) ReadFrom(b []byte) error {
	d := NewReader(b)
	v.After = Zxid(d.Int64())
	v.Xids = make([]int32, max(d.Count(4), 0))
	for i := range v.Xids {
		v.Xids[i] = d.Int32()
	}
	return d.Err()
}

// Outcome is the reply that a request was given, or would have been.
type Outcome struct {
	Xid  int32
	Zxid Zxid    // of its txn
	Err  ErrCode // of the reply
	Body []byte  // of the reply, if Err is OK
}

// OutcomesResponse has the outcomes of those requests that were executed. All others never will be.
type OutcomesResponse struct {
	Outcomes []Outcome
}

// AppendTo appends the encoding of v.
func (v *OutcomesResponse) AppendTo(b []byte) []byte {
	b = AppendInt32(b, int32(len(v.Outcomes)))
	for i := range v.Outcomes {
		o := &v.Outcomes[i]
		b = AppendInt32(b, o.Xid)
		b = AppendInt64(b, int64(o.Zxid))
		b = AppendInt32(b, int32(o.Err))
		b = AppendBuffer(b, o.Body)
	}
	return b
}

// ReadFrom decodes v; the bodies alias b.
func (v *OutcomesResponse) ReadFrom(b []byte) error {
	d := NewReader(b)
	v.Outcomes = make([]Outcome, max(d.Count(20), 0))
	for i := range v.Outcomes {
		v.Outcomes[i] = Outcome{Xid: d.Int32(), Zxid: Zxid(d.Int64()), Err: ErrCode(d.Int32()), Body: d.Buffer()}
	}
	return d.Err()
}
