package wire

import (
	"bytes"

	"github.com/seed94657493/warren/proto"
)

// Reply is the answer to one request. Body aliases nothing and may be kept.
type Reply struct {
	Header proto.ReplyHeader
	Body   []byte
	// Value is the decoded body: a pointer to the op's response record, []Slot for multi and
	// multiRead, nil where the protocol sends no body.
	Value any
}

// Err returns the header's error, or nil.
func (r *Reply) Err() error {
	if r.Header.Err == proto.OK {
		return nil
	}
	return r.Header.Err
}

// Slot is one result of a multi or multiRead.
type Slot struct {
	Type  proto.OpCode // -1 for a failed slot
	Err   proto.ErrCode
	Value any // as Reply.Value; nil for failed slots and for delete and check
}

// bodyRecord is what every generated record can do.
type bodyRecord interface {
	AppendTo([]byte) []byte
	Decode(*proto.Reader)
}

// responseOf returns an empty response record for a successful op, nil if op answers no body.
func responseOf(op proto.OpCode) bodyRecord {
	switch op {
	case proto.OpCreate:
		return new(proto.CreateResponse)
	case proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL:
		return new(proto.Create2Response)
	case proto.OpExists, proto.OpSetData, proto.OpSetACL:
		return new(proto.StatResponse)
	case proto.OpGetData, proto.OpReconfig:
		return new(proto.GetDataResponse)
	case proto.OpGetACL:
		return new(proto.GetACLResponse)
	case proto.OpGetChildren:
		return new(proto.GetChildrenResponse)
	case proto.OpGetChildren2:
		return new(proto.GetChildren2Response)
	case proto.OpSync:
		return new(proto.SyncResponse)
	case proto.OpGetEphemerals:
		return new(proto.GetEphemeralsResponse)
	case proto.OpGetAllChildrenNumber:
		return new(proto.GetAllChildrenNumberResponse)
	case proto.OpWhoAmI:
		return new(proto.WhoAmIResponse)
	case proto.OpAddWatch:
		return new(proto.ErrorResponse)
	case proto.OpSasl:
		return new(proto.SetSASLResponse)
	}
	return nil
}

// decodeBody decodes the body of a reply to op and refuses what no server may send. The rule that
// an error has no body has the two exceptions of client-protocol 4.1.
func decodeBody(op proto.OpCode, code proto.ErrCode, body []byte) (any, error) {
	if !code.Known() {
		return nil, violationf("%v: unknown error code %d", op, code)
	}
	if code != proto.OK {
		if len(body) != 0 && op != proto.OpSasl && op != proto.OpMultiRead {
			return nil, violationf("%v: error %v with a body of %d bytes", op, code.Name(), len(body))
		}
		return nil, nil
	}
	if op == proto.OpMulti || op == proto.OpMultiRead {
		slots, err := decodeSlots(op, body)
		if err != nil {
			return nil, err
		}
		return slots, nil
	}
	rec := responseOf(op)
	if rec == nil {
		if len(body) != 0 {
			return nil, violationf("%v: %d bytes where no body belongs", op, len(body))
		}
		return nil, nil
	}
	r := proto.NewReader(body)
	rec.Decode(&r)
	if err := checkRecord(op, rec, &r, body); err != nil {
		return nil, err
	}
	return rec, nil
}

// checkRecord refuses a record that did not decode, leaves bytes, is not canonical or holds a
// null where clients cannot read one.
func checkRecord(op proto.OpCode, rec bodyRecord, r *proto.Reader, body []byte) error {
	if r.Err() != nil {
		return violationf("%v: body does not decode: %v: %x", op, r.Err(), body)
	}
	if r.Len() != 0 {
		return violationf("%v: %d bytes after the body: %x", op, r.Len(), body)
	}
	if again := rec.AppendTo(nil); !bytes.Equal(again, body) {
		return violationf("%v: body is not canonical: %x, should be %x", op, body, again)
	}
	if hasNull(rec) {
		return violationf("%v: null string or vector in %x", op, body)
	}
	return nil
}

// hasNull reports a null string or vector. The echo of sync is exempt: it may be null when the
// request's path was. Source: client-protocol 5.3.
func hasNull(rec any) bool {
	switch v := rec.(type) {
	case *proto.CreateResponse:
		return v.Path == nil
	case *proto.Create2Response:
		return v.Path == nil
	case *proto.GetACLResponse:
		for _, a := range v.Acl {
			if a.Id.Scheme == nil {
				return true
			}
		}
		return v.Acl == nil
	case *proto.GetChildrenResponse:
		return v.Children == nil || anyNull(v.Children)
	case *proto.GetChildren2Response:
		return v.Children == nil || anyNull(v.Children)
	case *proto.GetEphemeralsResponse:
		return v.Ephemerals == nil || anyNull(v.Ephemerals)
	case *proto.WhoAmIResponse:
		for _, c := range v.ClientInfo {
			if c.AuthScheme == nil || c.User == nil {
				return true
			}
		}
		return v.ClientInfo == nil
	}
	return false
}

func anyNull(list []proto.Text) bool {
	for _, t := range list {
		if t == nil {
			return true
		}
	}
	return false
}

// decodeSlots decodes the results of a multi or multiRead. Source: client-protocol 6.3.
func decodeSlots(op proto.OpCode, body []byte) ([]Slot, error) {
	slots := []Slot{}
	m := proto.NewMultiReader(body)
	for {
		h, ok := m.Next()
		if m.R.Err() != nil {
			return nil, violationf("%v: results do not decode: %v: %x", op, m.R.Err(), body)
		}
		if !ok {
			if h.Type != -1 || h.Err != -1 {
				return nil, violationf("%v: terminator is %d, %d", op, h.Type, h.Err)
			}
			break
		}
		s := Slot{Type: h.Type, Err: h.Err}
		switch {
		case h.Type == proto.OpError:
			var e proto.ErrorResponse
			e.Decode(&m.R)
			if e.Err != h.Err {
				return nil, violationf("%v: slot header says %d, body %d", op, h.Err, e.Err)
			}
		case h.Err != proto.OK:
			return nil, violationf("%v: slot of type %v with error %d", op, h.Type, h.Err)
		default:
			switch h.Type {
			case proto.OpDelete, proto.OpCheck:
			case proto.OpCreate, proto.OpCreate2, proto.OpSetData, proto.OpGetData, proto.OpGetChildren:
				rec := responseOf(h.Type)
				rec.Decode(&m.R)
				s.Value = rec
			default:
				return nil, violationf("%v: slot of type %v", op, h.Type)
			}
		}
		if m.R.Err() != nil {
			return nil, violationf("%v: slot does not decode: %v: %x", op, m.R.Err(), body)
		}
		slots = append(slots, s)
	}
	if m.R.Len() != 0 {
		return nil, violationf("%v: %d bytes after the terminator", op, m.R.Len())
	}
	return slots, nil
}
