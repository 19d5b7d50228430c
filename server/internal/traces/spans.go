package traces

import (
	"encoding/binary"
	"strconv"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

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
	sessionKey   = "zookeeper.session"
	xidKey       = "zookeeper.xid"
	slowestKey   = "warren.slowest_stage"
	sampledKey   = "warren.sampled"
)

// spansOf appends the spans of an operation. wall is the time of the server's clock at 0, in ns since 1970.
func (x *Exporter) spansOf(all []*tracepb.Span, o *stages.Operation, wall int64) []*tracepb.Span {
	id := traceid.Of(o.Session, x.around.Password(o.Session), o.Xid)
	span := &tracepb.Span{TraceId: id.Trace[:], StartTimeUnixNano: uint64(wall + o.Began),
		EndTimeUnixNano: uint64(wall + o.Began + o.Took()), Flags: sampledFlag, Attributes: []*commonpb.KeyValue{
			text(systemKey, "zookeeper"), text(operationKey, o.Op.String()),
			{Key: sampledKey, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: o.Sampled}}},
		}}
	if o.Zxid != 0 {
		span.Attributes = append(span.Attributes, number(zxidKey, int64(o.Zxid)))
	}
	switch o.Part {
	case stages.Whole:
		span.Name, span.Kind, span.SpanId = o.Op.String(), tracepb.Span_SPAN_KIND_SERVER, id.Root[:]
		span.Attributes = append(span.Attributes, text(sessionKey, x.around.Label(o.Session)),
			number(xidKey, int64(o.Xid)), text(slowestKey, o.Slowest().String()))
		if o.Path != "" {
			span.Attributes = append(span.Attributes, text(pathKey, o.Path))
		}
		if o.Err != proto.OK {
			span.Attributes = append(span.Attributes, text(statusKey, o.Err.Name()))
		}
	case stages.Led:
		span.Name, span.Kind = "lead", tracepb.Span_SPAN_KIND_INTERNAL
		span.SpanId, span.ParentSpanId = x.newSpan(), id.Root[:]
	case stages.Logged:
		span.Name, span.Kind = "log", tracepb.Span_SPAN_KIND_INTERNAL
		span.SpanId, span.ParentSpanId = x.newSpan(), id.Root[:]
		return append(all, span) // it is one stage itself
	}
	all = append(all, span)
	begin := wall + o.Began
	for s, spent := range o.Spent {
		if spent == 0 {
			continue
		}
		all = append(all, &tracepb.Span{TraceId: id.Trace[:], SpanId: x.newSpan(), ParentSpanId: span.SpanId,
			Name: stages.Stage(s).String(), Kind: tracepb.Span_SPAN_KIND_INTERNAL, Flags: sampledFlag,
			StartTimeUnixNano: uint64(begin), EndTimeUnixNano: uint64(begin + spent)})
		begin += spent
	}
	return all
}

// sampledFlag is the flag sampled of the W3C's trace context.
const sampledFlag = 1

// newSpan returns a new id.
func (x *Exporter) newSpan() []byte {
	return binary.BigEndian.AppendUint64(make([]byte, 0, 8), x.around.Runtime.Uint64()|1) // 0 is no id
}

func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{
		Value: &commonpb.AnyValue_StringValue{StringValue: valid(value)}}}
}

func number(key string, value int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: value}}}
}

func idText(id int64) string { return strconv.FormatInt(id, 10) }
