package host

import (
	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/zab"
)

// reconfigure decides a reconfiguration: it returns the configuration that is to have the version zxid, as the znode holds it. The
// errors are those of ZooKeeper, in its order. Source: quorum-protocol 11.4 steps 2 to 6.
func (l *leading) reconfigure(r *proto.ReconfigRequest, zxid proto.Zxid) ([]byte, proto.ErrCode) {
	active, next := l.m.core.Ensembles()
	switch {
	case next != nil || l.reconfig > active.Version:
		return nil, proto.ErrReconfigInProgress
	case r.CurConfigID != -1 && proto.Zxid(r.CurConfigID) != active.Version:
		return nil, proto.ErrBadVersion
	}
	s := l.m
	refuse := func(err error) ([]byte, proto.ErrCode) {
		s.Log.Warn("refusing a reconfiguration", zap.Error(err))
		return nil, proto.ErrBadArguments
	}
	q, err := s.configurationOf(r)
	if err != nil {
		return refuse(err)
	}
	q.ConfigVersion = int64(zxid)
	text := ConfigText(q)
	e, err := (roster{}).Parse(text) // as everybody will read it
	if err != nil {
		return refuse(err)
	}
	if !l.m.core.Ready(e) {
		s.Log.Warn("refusing a reconfiguration: no quorum of its voters is connected and up to date", zap.Strings("members", q.Lines()))
		return nil, proto.ErrNewConfigNoQuorum
	}
	return text, proto.OK
}

// configurationOf returns the configuration that a reconfiguration asks for.
func (s *Host) configurationOf(r *proto.ReconfigRequest) (q *config.Quorum, err error) {
	if r.NewMembers != nil {
		q, err = config.Replaced(r.NewMembers.String())
	} else {
		q, err = s.Membership().Changed(r.JoiningServers.String(), r.LeavingServers.String())
	}
	if err == nil {
		err = s.Config.Quorum.Permits(q)
	}
	return q, err
}

// portion is what is proposed next: nothing is behind a reconfiguration, because the agreement takes nothing more until that is committed.
func (l *leading) portion() []zab.Txn {
	n := min(len(l.txns), proposeMax)
	if i := int64(l.reconfig) - int64(l.txns[0].Zxid); i >= 0 && i < int64(n) {
		n = int(i) + 1
	}
	return l.txns[:n]
}
