package audit

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"

	"github.com/seed94657493/warren/datatree/auth"
	"github.com/seed94657493/warren/internal/znodetext"
	"github.com/seed94657493/warren/proto"
)

// Covers reports whether an operation is audited.
func Covers(op proto.OpCode) bool { return operations[op] != "" }

// operations has the names of operations in the audit log; the others are not audited.
var operations = map[proto.OpCode]string{
	proto.OpCreate: "create", proto.OpCreate2: "create", proto.OpCreateContainer: "create",
	proto.OpCreateTTL: "create", proto.OpDelete: "delete", proto.OpSetData: "setData", proto.OpSetACL: "setAcl",
	proto.OpMulti: "multiOperation", proto.OpReconfig: "reconfig",
}

// A subject holds the fields of a request that its audit line needs after the answer. It is much smaller than the
// request: for each operation (one unless it is a multi) its op code, the flags of a create, and the path and the
// text of an ACL with their lengths.
type subject struct {
	op   proto.OpCode
	mode proto.CreateMode
	path []byte
	acl  []byte
}

// Subject returns the subjects of a request; nil if it is not audited or cannot be decoded.
func Subject(op proto.OpCode, body []byte) []byte {
	switch {
	case operations[op] == "" || op == proto.OpReconfig:
		return nil
	case op != proto.OpMulti:
		r := proto.NewReader(body)
		s := readSubject(op, &r)
		if r.Err() != nil {
			return nil
		}
		return s.appendTo(nil)
	}
	var b []byte
	for m := proto.NewMultiReader(body); ; {
		h, ok := m.Next()
		if !ok {
			return b
		}
		s := readSubject(h.Type, &m.R)
		if m.R.Err() != nil {
			return b
		}
		b = s.appendTo(b)
	}
}

// readSubject decodes the request of one operation. Operations that are not audited are decoded only as far as
// needed to skip them.
func readSubject(op proto.OpCode, r *proto.Reader) subject {
	s := subject{op: op}
	switch op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer:
		var req proto.CreateRequest
		req.Decode(r)
		s.path, s.mode = req.Path, proto.CreateMode(req.Flags)
	case proto.OpCreateTTL:
		var req proto.CreateTTLRequest
		req.Decode(r)
		s.path, s.mode = req.Path, proto.CreateMode(req.Flags)
	case proto.OpDelete:
		var req proto.DeleteRequest
		req.Decode(r)
		s.path = req.Path
	case proto.OpSetData:
		var req proto.SetDataRequest
		req.Decode(r)
		s.path = req.Path
	case proto.OpSetACL:
		var req proto.SetACLRequest
		req.Decode(r)
		s.path, s.acl = req.Path, appendACLText(nil, req.Acl)
	case proto.OpCheck:
		var req proto.CheckVersionRequest
		req.Decode(r)
	}
	return s
}

func (s *subject) appendTo(b []byte) []byte {
	b = binary.AppendVarint(b, int64(s.op))
	b = binary.AppendVarint(b, int64(s.mode))
	b = append(binary.AppendUvarint(b, uint64(len(s.path))), s.path...)
	return append(binary.AppendUvarint(b, uint64(len(s.acl))), s.acl...)
}

// nextSubject takes the first subject, in the encoding of appendTo, off b; ok is false at the end.
func nextSubject(b []byte) (s subject, rest []byte, ok bool) {
	if len(b) == 0 {
		return s, nil, false
	}
	op, n := binary.Varint(b)
	mode, m := binary.Varint(b[n:])
	s.op, s.mode, b = proto.OpCode(op), proto.CreateMode(mode), b[n+m:]
	for _, field := range []*[]byte{&s.path, &s.acl} {
		size, n := binary.Uvarint(b)
		*field, b = b[n:n+int(size)], b[n+int(size):]
	}
	return s, b, true
}

// Who returns the first fields of a line about a request: the session, 0 if there is none, the identities of the
// connection, and its address.
func Who(session proto.SessionID, ids []auth.Identity, addr netip.Addr) []byte {
	var b []byte
	if session != 0 {
		b = append(appendSession(b, session), '\t')
	}
	b = append(b, "user="...)
	var names []string
	for _, id := range ids {
		if name := userName(id); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	b = appendValue(b, strings.Join(names, ","))
	return append(append(b, "\tip="...), auth.NewIPIdentity(addr).ID...)
}

// userName returns an identity without its secret part.
func userName(id auth.Identity) string {
	switch id.Scheme {
	case auth.SchemeDigest:
		name, _, _ := strings.Cut(id.ID, ":")
		return name
	case auth.SchemeSuper:
		return auth.SchemeSuper
	}
	return id.ID
}

// appendLine appends a line about one operation. The path of a sequential znode is in the reply.
func (a *Log) appendLine(b, origin []byte, operation string, subjects []byte, res result, reply []byte) []byte {
	b = append(append(a.begin(b, res), origin...), "\toperation="...)
	b = append(b, operation...)
	if s, _, ok := nextSubject(subjects); ok {
		if res == success && operation == "create" {
			r := proto.NewReader(reply)
			if path := r.Text(); r.Err() == nil {
				s.path = path
			}
		}
		b = s.appendFields(b)
	}
	return endLine(b, res)
}

// appendMulti appends a line for each create, delete and setData of a multi that was applied, and one line for
// the whole multi if it failed.
func (a *Log) appendMulti(b, origin, subjects []byte, res result, reply []byte) []byte {
	start := len(b)
	slots := proto.NewMultiReader(reply)
	for res == success {
		s, rest, ok := nextSubject(subjects)
		if !ok {
			return b
		}
		subjects = rest
		h, ok := slots.Next()
		if !ok || h.Err != proto.OK {
			break
		}
		switch h.Type {
		case proto.OpCreate:
			s.path = slots.R.Text()
		case proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
			var created proto.Create2Response
			created.Decode(&slots.R)
			s.path = created.Path
		case proto.OpSetData:
			var stat proto.StatResponse
			stat.Decode(&slots.R)
		}
		if operation := operations[s.op]; operation != "" && s.op != proto.OpSetACL {
			b = append(append(a.begin(b, res), origin...), "\toperation="...)
			b = endLine(s.appendFields(append(b, operation...)), res)
		}
	}
	return a.appendLine(b[:start], origin, "multiOperation", nil, failure, nil)
}

// appendFields appends the path, the kind of a created znode, and an ACL.
func (s *subject) appendFields(b []byte) []byte {
	b = appendValue(append(b, "\tznode="...), string(s.path))
	switch s.op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		if kind := kindOf(s); kind != "" {
			b = append(append(b, "\tznode_type="...), kind...)
		}
	case proto.OpSetACL:
		b = append(append(b, "\tacl="...), s.acl...)
	}
	return b
}

// kindOf returns the kind of znode that a create asks for; "" for unknown flags.
func kindOf(s *subject) string {
	kinds := [...]string{"persistent", "ephemeral", "persistent_sequential", "ephemeral_sequential", "container",
		"persistent_with_ttl", "persistent_sequential_with_ttl"}
	if !s.mode.Valid() {
		return ""
	}
	return kinds[s.mode]
}

// appendACLText appends entries as scheme:id:permissions, with commas between them. For digests the user is
// logged without the hash, from which the password could be guessed.
func appendACLText(b []byte, acl []proto.ACL) []byte {
	for i := range acl {
		e := &acl[i]
		if i > 0 {
			b = append(b, ',')
		}
		id := string(e.Id.Id)
		if string(e.Id.Scheme) == auth.SchemeDigest {
			user, _, _ := strings.Cut(id, ":")
			id = user + ":x"
		}
		b = appendValue(append(appendValue(b, string(e.Id.Scheme)), ':'), id)
		b = znodetext.AppendPerms(append(b, ':'), e.Perms)
	}
	return b
}

// appendValue appends a value that a client has chosen. It is escaped, so that it can forge neither fields nor
// lines.
func appendValue(b []byte, value string) []byte {
	const digits = "0123456789abcdef"
	for i := range len(value) {
		switch c := value[i]; {
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\n':
			b = append(b, `\n`...)
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'x', digits[c>>4], digits[c&15])
		default:
			b = append(b, c)
		}
	}
	return b
}

// Link adds a line: a user has made a link that shows the znodes at and below a path without a login.
func (a *Log) Link(ids []auth.Identity, addr netip.Addr, path string) {
	a.add(func(b []byte) []byte {
		b = append(append(a.begin(b, success), Who(0, ids, addr)...), "\toperation=shareLink\tznode="...)
		return endLine(appendValue(b, path), success)
	})
}
