package server

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/seed94657493/warren/datatree"
	"github.com/seed94657493/warren/proto"
)

// auditOperation is the name of an operation in the audit log; "" if it is not audited.
func auditOperation(op proto.OpCode) string {
	switch op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		return "create"
	case proto.OpDelete:
		return "delete"
	case proto.OpSetData:
		return "setData"
	case proto.OpSetACL:
		return "setAcl"
	case proto.OpMulti:
		return "multiOperation"
	case proto.OpReconfig:
		return "reconfig"
	}
	return ""
}

// A subject is what the audit log needs of a request after it has been answered, which is much less than the request: for
// each operation, one unless it is a multi, its op code, flags of a create, and path and text of an ACL with their lengths.
type subject struct {
	op   proto.OpCode
	mode proto.CreateMode
	path []byte
	acl  []byte
}

// auditSubject returns the subjects of a request; nil if it is not audited or cannot be decoded.
func auditSubject(op proto.OpCode, body []byte) []byte {
	switch {
	case auditOperation(op) == "" || op == proto.OpReconfig:
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

// readSubject decodes the request of one operation. Of operations that are not audited it reads what it has to skip.
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

// nextSubject takes the first subject off b, which appendTo has written; ok is false at the end.
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

// auditWho is the first fields of a line about a request: session, identities and address.
func (c *conn) auditWho() []byte {
	var b []byte
	if s := c.session.Load(); s != nil {
		b = append(appendSession(b, s.id), '\t')
	}
	b = append(b, "user="...)
	var names []string
	for _, id := range *c.ids.Load() {
		if name := userName(id); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	b = appendAudited(b, strings.Join(names, ","))
	return append(append(b, "\tip="...), datatree.NewIPIdentity(c.remote.Addr()).ID...)
}

// userName is an identity without what is secret in it.
func userName(id datatree.Identity) string {
	switch id.Scheme {
	case datatree.SchemeDigest:
		name, _, _ := strings.Cut(id.ID, ":")
		return name
	case datatree.SchemeSuper:
		return datatree.SchemeSuper
	}
	return id.ID
}

// appendLine appends a line about one operation. The path of a sequential znode is in the reply.
func (a *audit) appendLine(b, who []byte, operation string, subjects []byte, result auditResult, reply []byte) []byte {
	b = append(append(a.begin(b, result), who...), "\toperation="...)
	b = append(b, operation...)
	if s, _, ok := nextSubject(subjects); ok {
		if result == auditSuccess && operation == "create" {
			r := proto.NewReader(reply)
			if path := r.Text(); r.Err() == nil {
				s.path = path
			}
		}
		b = s.appendFields(b)
	}
	return endAudit(b, result)
}

// appendMulti appends a line for each create, delete and setData of a multi that was applied, and one for all of it if it
// failed.
func (a *audit) appendMulti(b, who, subjects []byte, result auditResult, reply []byte) []byte {
	start := len(b)
	slots := proto.NewMultiReader(reply)
	for result == auditSuccess {
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
		if operation := auditOperation(s.op); operation != "" && s.op != proto.OpSetACL {
			b = append(append(a.begin(b, result), who...), "\toperation="...)
			b = endAudit(s.appendFields(append(b, operation...)), result)
		}
	}
	return a.appendLine(b[:start], who, "multiOperation", nil, auditFailure, nil)
}

// appendFields appends the path, the kind of a created znode, and an ACL.
func (s *subject) appendFields(b []byte) []byte {
	b = appendAudited(append(b, "\tznode="...), string(s.path))
	switch s.op {
	case proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		if kind := auditKind(s); kind != "" {
			b = append(append(b, "\tznode_type="...), kind...)
		}
	case proto.OpSetACL:
		b = append(append(b, "\tacl="...), s.acl...)
	}
	return b
}

// auditKind is the kind of znode that a create asks for; "" for flags that mean nothing.
func auditKind(s *subject) string {
	kinds := [...]string{"persistent", "ephemeral", "persistent_sequential", "ephemeral_sequential", "container",
		"persistent_with_ttl", "persistent_sequential_with_ttl"}
	if !s.mode.Valid() {
		return ""
	}
	return kinds[s.mode]
}

// appendACLText appends entries as scheme:id:permissions, with commas between them. Of digests the user is told, and not
// the hash: whoever has it can look for the password.
func appendACLText(b []byte, acl []proto.ACL) []byte {
	for i := range acl {
		e := &acl[i]
		if i > 0 {
			b = append(b, ',')
		}
		id := string(e.Id.Id)
		if string(e.Id.Scheme) == datatree.SchemeDigest {
			user, _, _ := strings.Cut(id, ":")
			id = user + ":x"
		}
		b = appendAudited(append(appendAudited(b, string(e.Id.Scheme)), ':'), id)
		b = append(b, ':')
		for _, p := range []struct {
			perm   int32
			letter byte
		}{{proto.PermCreate, 'c'}, {proto.PermDelete, 'd'}, {proto.PermRead, 'r'}, {proto.PermWrite, 'w'}, {proto.PermAdmin, 'a'}} {
			if e.Perms&p.perm != 0 {
				b = append(b, p.letter)
			}
		}
	}
	return b
}

// appendAudited appends a value that a client has chosen, so that it can forge neither fields nor lines.
func appendAudited(b []byte, value string) []byte {
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
