package prepare

import "github.com/seed94657493/warren/proto"

// checkQuota returns ErrQuotaExceeded if a change of count znodes and size bytes at path breaks a
// hard limit of the deepest quota around it. Limits and use are those of the applied tree, as in
// ZooKeeper: outstanding changes may overshoot together. Source: server-semantics 8.4.
func (p *Preparer) checkQuota(path []byte, count, size int64) proto.ErrCode {
	if !p.cfg.EnforceQuota || count == 0 && size == 0 {
		return proto.OK
	}
	limits, used, ok := p.state.QuotaOf(path)
	if !ok {
		return proto.OK
	}
	hard, soft := limits.Judge(used, count, size)
	if p.cfg.Events != nil && (hard || soft) {
		p.cfg.Events.QuotaExceeded(path, hard)
	}
	if hard {
		return proto.ErrQuotaExceeded
	}
	return proto.OK
}
