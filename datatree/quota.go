package datatree

import (
	"bytes"
	"math"
)

// Names under /zookeeper/quota. Source: server-semantics section 8.1.
const (
	quotaRoot       = "/zookeeper/quota"
	quotaLimitsName = "zookeeper_limits"
	quotaStatsName  = "zookeeper_stats"
)

// quotaLimits is the content of a limits or of a stats node: -1 in a field means that it is
// absent, or that it is not a number. A stats node uses count and bytes only.
type quotaLimits struct {
	count, bytes         int64 // soft limits; in a stats node what is used
	countHard, bytesHard int64 // limits that are enforced
}

// noQuota has no limit at all.
var noQuota = quotaLimits{count: -1, bytes: -1, countHard: -1, bytesHard: -1}

// parseQuota decodes the text of a limits or stats node. It has no errors: whatever a client has
// written into the node, what cannot be understood counts as absent. Of a key that occurs twice
// the last wins. Source: server-semantics sections 8.1 and 8.6.
func parseQuota(text []byte) quotaLimits {
	q := noQuota
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
			q.count = parseQuotaNumber(value)
		case "bytes":
			q.bytes = parseQuotaNumber(value)
		case "countHardLimit":
			q.countHard = parseQuotaNumber(value)
		case "byteHardLimit":
			q.bytesHard = parseQuotaNumber(value)
		}
	}
	return q
}

// parseQuotaNumber decodes a decimal number with an optional sign; -1 if it is none or does not
// fit.
func parseQuotaNumber(text []byte) int64 {
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

// quotaLimit returns the limit that judges a use: the hard one if there is one, else the soft one.
func quotaLimit(hard, soft int64) (value int64, isHard bool) {
	if hard > -1 {
		return hard, true
	}
	return soft, false
}

// exceeds reports whether used and delta together are more than most, which is not negative.
func exceeds(used, delta, most int64) bool {
	used = max(used, 0)
	if delta > 0 {
		return used > most-delta // cannot overflow, as the sum could
	}
	return used+delta > most
}

// judge reports what a change of count znodes and size bytes on top of used breaks: a hard limit,
// which refuses the change, or a soft one, which is worth a warning. A change of nothing breaks
// nothing; a shrinking one is refused as long as it ends above the limit. Source:
// server-semantics section 8.4.
func (q quotaLimits) judge(used quotaLimits, count, size int64) (hard, soft bool) {
	if most, isHard := quotaLimit(q.countHard, q.count); count != 0 && most > -1 && exceeds(used.count, count, most) {
		hard, soft = isHard, !isHard
	}
	if most, isHard := quotaLimit(q.bytesHard, q.bytes); size != 0 && most > -1 && exceeds(used.bytes, size, most) {
		hard, soft = hard || isHard, soft || !isHard
	}
	return hard, soft
}
