package datatree

import (
	"bytes"

	"github.com/seed94657493/warren/proto"
)

// checkQuota returns ErrQuotaExceeded if a change of count znodes and size bytes at path breaks a
// hard limit of the deepest quota around it. Limits and use are those of the applied tree, as in
// ZooKeeper: outstanding changes may overshoot together. Source: server-semantics section 8.4.
func (p *Preparer) checkQuota(path []byte, count, size int64) proto.ErrCode {
	if !p.cfg.EnforceQuota || count == 0 && size == 0 {
		return proto.OK
	}
	limits, used, ok := p.state.quotaOf(path)
	if !ok {
		return proto.OK
	}
	hard, soft := limits.judge(used, count, size)
	if p.cfg.Events != nil && (hard || soft) {
		p.cfg.Events.QuotaExceeded(path, hard)
	}
	if hard {
		return proto.ErrQuotaExceeded
	}
	return proto.OK
}

// quotaOf returns the limits and the use of the deepest quota that path is in. There is none
// without a stats node. It walks down /zookeeper/quota beside path for as long as there are
// znodes. A quota of the root has no path and is ignored.
func (s *State) quotaOf(path []byte) (limits, used quotaLimits, ok bool) {
	at := s.quota
	limitsNode, statsNode := NodeID(0), NodeID(0)
	for rest := path; at != 0 && len(rest) > 1; {
		component := rest[1:]
		rest = nil
		if slash := bytes.IndexByte(component, '/'); slash >= 0 {
			component, rest = component[:slash], component[slash:]
		}
		if at = s.Child(at, component); at == 0 {
			break
		}
		if id := s.Child(at, []byte(quotaLimitsName)); id != 0 {
			limitsNode, statsNode = id, s.Child(at, []byte(quotaStatsName))
		}
	}
	if limitsNode == 0 || statsNode == 0 {
		return noQuota, noQuota, false
	}
	return parseQuota(s.Data(limitsNode)), parseQuota(s.Data(statsNode)), true
}
