package proto

// PasswordSize is the length of a session password on the wire, even when it is rejected.
const PasswordSize = 16

// ConnectRequest is the first frame of a connection. Source: client-protocol 3.1.
type ConnectRequest struct {
	ProtocolVersion int32     // ignored by servers
	LastZxidSeen    Zxid      // newest zxid the client has seen, 0 for a new client
	TimeOut         int32     // requested session timeout, ms
	SessionID       SessionID // 0 for a new session
	Password        []byte    // of the session to resume
	ReadOnly        bool      // the client accepts a read-only server
	HasReadOnly     bool      // the optional readOnly byte was present; clients before 3.4 omit it
	Extensions      int32     // that the client knows; only with the readOnly byte. Source: extensions 1
}

// AppendTo appends the encoding of r, with the readOnly byte only if r.HasReadOnly, and with the extensions only if
// there are any.
func (r *ConnectRequest) AppendTo(b []byte) []byte {
	b = AppendInt32(b, r.ProtocolVersion)
	b = AppendInt64(b, int64(r.LastZxidSeen))
	b = AppendInt32(b, r.TimeOut)
	b = AppendInt64(b, int64(r.SessionID))
	b = AppendBuffer(b, r.Password)
	if r.HasReadOnly {
		b = appendExtensions(AppendBool(b, r.ReadOnly), r.Extensions)
	}
	return b
}

// ReadFrom decodes r; Password aliases b.
func (r *ConnectRequest) ReadFrom(b []byte) error {
	d := NewReader(b)
	r.ProtocolVersion = d.Int32()
	r.LastZxidSeen = Zxid(d.Int64())
	r.TimeOut = d.Int32()
	r.SessionID = SessionID(d.Int64())
	r.Password = d.Buffer()
	r.HasReadOnly = d.Err() == nil && d.Len() > 0
	r.ReadOnly = r.HasReadOnly && d.Bool()
	r.Extensions = readExtensions(&d)
	return d.Err()
}

// ConnectResponse answers a ConnectRequest. TimeOut, SessionID and Password are all zero when
// the session is rejected. Source: client-protocol 3.2.
type ConnectResponse struct {
	ProtocolVersion int32              // always 0
	TimeOut         int32              // negotiated session timeout, ms
	SessionID       SessionID          // assigned or confirmed
	Password        [PasswordSize]byte // of the session
	ReadOnly        bool               // the server is read-only
	HasReadOnly     bool               // send the readOnly byte, as the request had it
	Extensions      int32              // of those of the request, the ones that the server grants
	Zxid            Zxid               // of a txn that the server has applied; only with extensions
}

// AppendTo appends the encoding of r: 36 bytes, 37 if r.HasReadOnly, and 53 if there are extensions as well.
func (r *ConnectResponse) AppendTo(b []byte) []byte {
	b = AppendInt32(b, r.ProtocolVersion)
	b = AppendInt32(b, r.TimeOut)
	b = AppendInt64(b, int64(r.SessionID))
	b = AppendBuffer(b, r.Password[:])
	if r.HasReadOnly {
		b = appendExtensions(AppendBool(b, r.ReadOnly), r.Extensions)
	}
	if r.HasReadOnly && r.Extensions != 0 {
		b = AppendInt64(b, int64(r.Zxid))
	}
	return b
}

// ReadFrom decodes r. A password of another length than PasswordSize is ErrLength.
func (r *ConnectResponse) ReadFrom(b []byte) error {
	d := NewReader(b)
	r.ProtocolVersion = d.Int32()
	r.TimeOut = d.Int32()
	r.SessionID = SessionID(d.Int64())
	passwd := d.Buffer()
	if d.Err() == nil && len(passwd) != PasswordSize {
		return ErrLength
	}
	copy(r.Password[:], passwd)
	r.HasReadOnly = d.Err() == nil && d.Len() > 0
	r.ReadOnly = r.HasReadOnly && d.Bool()
	if r.Extensions = readExtensions(&d); r.Extensions != 0 {
		r.Zxid = Zxid(d.Int64())
	}
	return d.Err()
}

// SessionPassword derives a session's password from its id as ZooKeeper does. The rule is public: a client that knows
// the id can compute the password. Source: client-protocol 3.5.
func SessionPassword(id SessionID) [PasswordSize]byte {
	const mask = uint64(1)<<48 - 1
	state := ((uint64(id) ^ 0xB3415C00) ^ 0x5DEECE66D) & mask
	var p [PasswordSize]byte
	for i := 0; i < PasswordSize; i += 4 {
		state = (state*0x5DEECE66D + 0xB) & mask
		w := uint32(state >> 16)
		p[i], p[i+1], p[i+2], p[i+3] = byte(w), byte(w>>8), byte(w>>16), byte(w>>24)
	}
	return p
}
