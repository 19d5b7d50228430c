// Package quota holds the text of quotas: how the limits node and the stats node of a quota are written, and how
// much a change may add to the use.
//
// A quota on a path is two znodes at the same place under /zookeeper/quota. Clients write the limits; datatree
// keeps the use. All functions are pure.
package quota

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// Where quotas are. Source: server-semantics 8.1.
const (
	Root       = "/zookeeper/quota" // the quota on /a is below /zookeeper/quota/a
	LimitsName = "zookeeper_limits" // the node with the limits
	StatsName  = "zookeeper_stats"  // the node with the use
)

// Limits is the content of a limits or of a stats node: -1 in a field means that it is absent, or that
// it is not a number. A stats node uses Count and Bytes only.
type Limits struct {
	Count, Bytes         int64 // soft limits; in a stats node the use
	CountHard, BytesHard int64 // limits that are enforced
}

// None returns limits that are all absent.
func None() Limits { return Limits{Count: -1, Bytes: -1, CountHard: -1, BytesHard: -1} }

// Effective returns the limits that count: the hard one if there is one, else the soft one; -1 for
// none.
func (q Limits) Effective() (count, bytes int64) {
	count, _ = limitOf(q.CountHard, q.Count)
	bytes, _ = limitOf(q.BytesHard, q.Bytes)
	return count, bytes
}

// Parse decodes the text of a limits or stats node. It has no errors: text that it cannot read counts as absent.
// If a key occurs twice the last one counts. Source: server-semantics 8.1 and 8.6.
func Parse(text []byte) Limits {
	q := None()
	for len(text) > 0 {
		part := text
		if i := bytes.IndexAny(text, ",;"); i >= 0 {
			part, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		key, value, _ := bytes.Cut(part, []byte{'='})
		value, _, _ = bytes.Cut(value, []byte{'='})
		switch string(key) {
		case "count":
			q.Count = parseNumber(value)
		case "bytes":
			q.Bytes = parseNumber(value)
		case "countHardLimit":
			q.CountHard = parseNumber(value)
		case "byteHardLimit":
			q.BytesHard = parseNumber(value)
		}
	}
	return q
}

// parseNumber decodes a decimal number with an optional sign; -1 if the text is no number or does not fit.
func parseNumber(text []byte) int64 {
	negative := false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		text = text[1:]
	}
	if len(text) == 0 {
		return -1
	}
	n := int64(0)
	for _, c := range text {
		if c < '0' || c > '9' || n > (math.MaxInt64-int64(c-'0'))/10 {
			return -1
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		return -n
	}
	return n
}

// limitOf returns the limit that applies to a use: the hard one if there is one, else the soft one.
func limitOf(hard, soft int64) (value int64, isHard bool) {
	if hard > -1 {
		return hard, true
	}
	return soft, false
}

// exceeds reports whether used, which may be negative, and delta together are more than most, which is not negative.
func exceeds(used, delta, most int64) bool {
	if delta > 0 {
		return used > most-delta // cannot overflow, as the sum could
	}
	return used > most && used+delta > most
}

// Judge reports which limit a change of count znodes and size bytes on top of used exceeds: a hard one, so that
// the change must be refused, or a soft one, which is worth a warning. A change of nothing exceeds nothing. A
// change that shrinks is refused as long as the result is above the limit. Source: server-semantics 8.4.
func (q Limits) Judge(used Limits, count, size int64) (hard, soft bool) {
	if most, isHard := limitOf(q.CountHard, q.Count); count != 0 && most > -1 && exceeds(used.Count, count, most) {
		hard, soft = isHard, !isHard
	}
	if most, isHard := limitOf(q.BytesHard, q.Bytes); size != 0 && most > -1 && exceeds(used.Bytes, size, most) {
		hard, soft = hard || isHard, soft || !isHard
	}
	return hard, soft
}

// AppendLimits appends the text of a limits node.
func AppendLimits(b []byte, q Limits) []byte {
	return fmt.Appendf(b, "count=%d,bytes=%d=;byteHardLimit=%d;countHardLimit=%d", q.Count, q.Bytes, q.BytesHard,
		q.CountHard)
}

// AppendStats appends the text of a stats node.
func AppendStats(b []byte, used Limits) []byte {
	b = strconv.AppendInt(append(b, "count="...), used.Count, 10)
	return strconv.AppendInt(append(b, ",bytes="...), used.Bytes, 10)
}

// Namespace is the first element of a path: quotas are summed up by it. Source: operations 2.3.
func Namespace(path []byte) string {
	first, _, _ := bytes.Cut(bytes.TrimPrefix(path, []byte{'/'}), []byte{'/'})
	return string(first)
}
