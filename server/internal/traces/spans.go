package traces

import (
	"encoding/binary"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/traceid"
	"github.com/seed94657493/warren/server/internal/stages"
)

// Names of attributes: those of client/otelclient where it has them.
const (
	systemKey    = "db.system.name"
	operationKey = "db.operation.name"
	statusKey    = "db.response.status_code"
	pathKey      = "zookeeper.path"
	zxidKey      = "zookeeper.zxid"
	xidKey       = "zookeeper.xid"
	slowestKey   = "warren.slowest_stage"
	sampledKey   = "warren.sampled"
)

// Numbers of the fields of OTLP's messages, version 1: ExportTraceServiceRequest and ResourceSpans, ScopeSpans, Span,
// and of common.v1 KeyValue, AnyValue, Resource and InstrumentationScope.
const (
	requestResourceSpans protowire.Number = 1
	resourceSpansOwner   protowire.Number = 1
	resourceSpansScopes  protowire.Number = 2
	resourceAttributes   protowire.Number = 1
	scopeSpansScope      protowire.Number = 1
	scopeSpansSpans      protowire.Number = 2
	scopeName            protowire.Number = 1
	scopeVersion         protowire.Number = 2
	spanTrace            protowire.Number = 1
	spanID               protowire.Number = 2
	spanParent           protowire.Number = 4
	spanName             protowire.Number = 5
	spanKind             protowire.Number = 6
	spanStart            protowire.Number = 7
	spanEnd              protowire.Number = 8
	spanAttributes       protowire.Number = 9
	spanFlags            protowire.Number = 16
	pairKey              protowire.Number = 1
	pairValue            protowire.Number = 2
	valueText            protowire.Number = 1
	valueBool            protowire.Number = 2
	valueInt             protowire.Number = 3
)

// The same of the answer: ExportTraceServiceResponse and ExportTracePartialSuccess.
const (
	answerPartial   protowire.Number = 1
	partialRejected protowire.Number = 1
	partialWhy      protowire.Number = 2
)

// partial reads from an answer how many spans the collector has rejected, and why. A malformed answer tells of none.
func partial(answer []byte) (rejected int, why string) {
	fields(answer, func(number protowire.Number, _ uint64, text []byte) {
		if number != answerPartial {
			return
		}
		fields(text, func(number protowire.Number, value uint64, text []byte) {
			switch number {
			case partialRejected:
				rejected = int(max(int64(value), 0))
			case partialWhy:
				why = valid(string(text))
			}
		})
	})
	return rejected, why
}

// fields calls fn for each field of a message that is a number or has bytes.
func fields(message []byte, fn func(number protowire.Number, value uint64, text []byte)) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		var value uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return
		}
		message = message[n:]
		fn(number, value, text)
	}
}

// Kinds of spans.
const (
	kindInternal = 1
	kindServer   = 2
)

// sampledFlag is the flag sampled of the W3C's trace context.
const sampledFlag = 1

// span is what all spans have.
type span struct {
	trace      *[16]byte
	id, parent [8]byte // parent is 0 for the root
	name       string
	kind       uint64
	start, end int64 // ns since 1970
}

// appendSpans appends the spans of an operation, each as a field of ScopeSpans, and returns how many there are. wall
// is the time of the server's clock at 0, in ns since 1970.
func (x *Exporter) appendSpans(b []byte, o *stages.Operation, wall int64) (out []byte, n int) {
	id := traceid.Of(o.Session, x.around.Password(o.Session), o.Xid)
	whole := span{trace: &id.Trace, start: wall + o.Began, end: wall + o.Began + o.Took()}
	switch o.Part {
	case stages.Whole:
		whole.name, whole.kind, whole.id = o.Op.String(), kindServer, id.Root
	case stages.Led:
		whole.name, whole.kind, whole.id, whole.parent = "lead", kindInternal, x.newSpan(), id.Root
	case stages.Logged:
		whole.name, whole.kind, whole.id, whole.parent = "log", kindInternal, x.newSpan(), id.Root
	}
	b, at := begin(b, scopeSpansSpans)
	b = whole.appendTo(b)
	b = appendText(b, spanAttributes, systemKey, "zookeeper")
	b = appendText(b, spanAttributes, operationKey, o.Op.String())
	b = appendBool(b, spanAttributes, sampledKey, o.Sampled)
	if o.Zxid != 0 {
		b = appendInt(b, spanAttributes, zxidKey, int64(o.Zxid))
	}
	if o.Part == stages.Whole {
		b = appendInt(b, spanAttributes, xidKey, int64(o.Xid))
		b = appendText(b, spanAttributes, slowestKey, o.Slowest().String())
		if o.Path != "" {
			b = appendText(b, spanAttributes, pathKey, valid(o.Path))
		}
		if o.Err != proto.OK {
			b = appendText(b, spanAttributes, statusKey, o.Err.Name())
		}
	}
	b = end(b, at)
	if o.Part == stages.Logged {
		return b, 1 // it is one stage itself
	}
	n = 1
	for s, from := stages.Stage(0), whole.start; s < stages.Number; s++ {
		if o.Spent[s] == 0 {
			continue
		}
		stage := span{trace: &id.Trace, id: x.newSpan(), parent: whole.id, name: s.String(), kind: kindInternal,
			start: from, end: from + o.Spent[s]}
		b, at = begin(b, scopeSpansSpans)
		b = end(stage.appendTo(b), at)
		from = stage.end
		n++
	}
	return b, n
}

func (s *span) appendTo(b []byte) []byte {
	b = protowire.AppendTag(b, spanTrace, protowire.BytesType)
	b = protowire.AppendBytes(b, s.trace[:])
	b = protowire.AppendTag(b, spanID, protowire.BytesType)
	b = protowire.AppendBytes(b, s.id[:])
	if s.parent != [8]byte{} {
		b = protowire.AppendTag(b, spanParent, protowire.BytesType)
		b = protowire.AppendBytes(b, s.parent[:])
	}
	b = protowire.AppendTag(b, spanName, protowire.BytesType)
	b = protowire.AppendString(b, s.name)
	b = protowire.AppendTag(b, spanKind, protowire.VarintType)
	b = protowire.AppendVarint(b, s.kind)
	b = protowire.AppendTag(b, spanStart, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, uint64(s.start))
	b = protowire.AppendTag(b, spanEnd, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, uint64(s.end))
	b = protowire.AppendTag(b, spanFlags, protowire.Fixed32Type)
	return protowire.AppendFixed32(b, sampledFlag)
}

// request returns a request with spans, which appendSpans has written.
func (x *Exporter) request(spans []byte) []byte {
	b := make([]byte, 0, len(spans)+256)
	b, request := begin(b, requestResourceSpans)
	b, owner := begin(b, resourceSpansOwner)
	b = appendText(b, resourceAttributes, "service.name", "warren")
	b = appendText(b, resourceAttributes, "service.version", valid(x.around.Version))
	b = appendText(b, resourceAttributes, "service.instance.id", strconv.FormatInt(x.around.Server, 10))
	b = end(b, owner)
	b, scopes := begin(b, resourceSpansScopes)
	b, scope := begin(b, scopeSpansScope)
	b = protowire.AppendTag(b, scopeName, protowire.BytesType)
	b = protowire.AppendString(b, scopeText)
	b = protowire.AppendTag(b, scopeVersion, protowire.BytesType)
	b = protowire.AppendString(b, valid(x.around.Version))
	b = end(b, scope)
	b = append(b, spans...)
	b = end(b, scopes)
	return end(b, request)
}

// lengthBytes is the room for the length of a message: a varint of four bytes, padded if the length is small.
const lengthBytes = 4

// begin begins a message in a field. end must get the result at.
func begin(b []byte, field protowire.Number) (out []byte, at int) {
	b = protowire.AppendTag(b, field, protowire.BytesType)
	return append(b, 0, 0, 0, 0), len(b)
}

// end ends the message that began at at. REQUIRES: it has fewer than 1<<28 bytes.
func end(b []byte, at int) []byte {
	n := len(b) - at - lengthBytes
	for i := range lengthBytes {
		b[at+i] = byte(n)&0x7f | 0x80
		n >>= 7
	}
	b[at+lengthBytes-1] &= 0x7f
	return b
}

func appendText(b []byte, field protowire.Number, key, value string) []byte {
	b, pair, in := beginPair(b, field, key)
	b = protowire.AppendTag(b, valueText, protowire.BytesType)
	b = protowire.AppendString(b, value)
	return end(end(b, in), pair)
}

func appendInt(b []byte, field protowire.Number, key string, value int64) []byte {
	b, pair, in := beginPair(b, field, key)
	b = protowire.AppendTag(b, valueInt, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(value))
	return end(end(b, in), pair)
}

func appendBool(b []byte, field protowire.Number, key string, value bool) []byte {
	b, pair, in := beginPair(b, field, key)
	b = protowire.AppendTag(b, valueBool, protowire.VarintType)
	b = protowire.AppendVarint(b, protowire.EncodeBool(value))
	return end(end(b, in), pair)
}

func beginPair(b []byte, field protowire.Number, key string) (out []byte, pair, value int) {
	b, pair = begin(b, field)
	b = protowire.AppendTag(b, pairKey, protowire.BytesType)
	b = protowire.AppendString(b, key)
	b, value = begin(b, pairValue)
	return b, pair, value
}

func (x *Exporter) newSpan() (id [8]byte) {
	binary.BigEndian.PutUint64(id[:], x.around.Runtime.Uint64()|1) // 0 is no id
	return id
}
