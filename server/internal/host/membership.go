package host

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/env"
	"github.com/seed94657493/warren/server/peers"
	"github.com/seed94657493/warren/zab"
)

// Who is in the ensemble. With reconfigEnabled=false that is what zoo.cfg says. Else it is the committed configuration, which meta.db
// has and the agreement changes; the files that zoo.cfg names are written after it, and count at a start only if theirs is newer.
// Source: quorum-protocol 11, operations 1.6.

// configurations returns the configuration that was committed last, for all that this server knows, and the one behind it in its
// history, of which it is not known whether it was committed; nil if there is none.
func (s *Host) configurations() (active, next *zab.Ensemble, err error) {
	active, err = ensembleOf(&s.Config.Quorum)
	if err != nil || !s.Config.ReconfigEnabled {
		return active, nil, err
	}
	kept, known := s.Disk.Meta.Config()
	if known && kept.Version >= active.Version {
		q, err := config.ParseMembers([]byte(kept.Text))
		if err != nil {
			return nil, nil, fmt.Errorf("server: the configuration in meta.db: %w", err)
		}
		q.ConfigVersion = int64(kept.Version)
		if q.Text() != s.Config.Quorum.Text() {
			s.Log.Warn("the servers named in the files are not those of the ensemble, and do not count", zap.Stringer("version", kept.Version),
				zap.Strings("ensemble", q.Lines()), zap.Strings("files", s.Config.Lines()))
		}
		if active, err = ensembleOf(q); err != nil {
			return nil, nil, err
		}
	} else if active.Version > 0 {
		if err := s.Disk.KeepConfiguration(active); err != nil {
			return nil, nil, err
		}
	}
	// Nothing is logged before the configuration that it was agreed by is kept. So without one the state comes from elsewhere, such as
	// a backup of another ensemble, and says nothing about this one.
	if next = newestConfiguration(s.Store.State); next != nil && (!known || next.Version <= active.Version) {
		next = nil
	}
	return active, next, nil
}

// QuorumWith is the configuration of this server with the members of an ensemble. Its text was made by ensembleOf.
func (s *Host) QuorumWith(e *zab.Ensemble) *config.Quorum {
	q, err := config.ParseMembers(e.Text)
	if err != nil {
		panic(fmt.Sprintf("server: configuration %v: %v", e.Version, err))
	}
	q.ConfigVersion = int64(e.Version)
	return s.Config.Quorum.With(q)
}

// followConfigurations takes up what has changed of the configurations. REQUIRES: turn.
func (m *Host) followConfigurations() {
	active, next := m.core.Ensembles()
	if active == m.Active && next == m.next {
		return
	}
	s := m
	if active != m.Active {
		q := s.QuorumWith(active)
		s.Members.Store(q)
		s.OutstandingMax.Store(int64(env.OutstandingPerServer(s.Config.GlobalOutstandingLimit, q.Voters())))
		s.Log.Info("configuration", zap.Stringer("version", active.Version), zap.Strings("members", q.Lines()))
		m.published = m.published.Add(-viewEvery)
		if s.Config.ReconfigEnabled {
			s.configured(q)
		}
	}
	m.Active, m.next = active, next
	if err := m.peers.SetMembers(m.neighbours()); err != nil {
		s.Log.Error("connecting to the servers of the configuration", zap.Error(err))
	}
}

// decides reports whether the given servers hold a quorum of every configuration.
func (m *Host) decides(ids ...proto.ServerID) bool {
	return m.Active.Quorum.Decides(ids...) && (m.next == nil || m.next.Quorum.Decides(ids...))
}

// neighbours are the servers of both configurations, and this one. One whose addresses change has all of them.
func (m *Host) neighbours() []peers.Member {
	s := m
	all := []peers.Member{}
	add := func(line *config.Member) {
		i := slices.IndexFunc(all, func(p peers.Member) bool { return p.ID == proto.ServerID(line.ID) })
		if i < 0 {
			i = len(all)
			all = append(all, peers.Member{ID: proto.ServerID(line.ID), Observer: true})
		}
		p := &all[i]
		p.Observer = p.Observer && line.Role == config.Observer
		for _, a := range line.Addresses {
			p.Election = appendNew(p.Election, net.JoinHostPort(a.Host, strconv.Itoa(a.ElectionPort)))
			p.Quorum = appendNew(p.Quorum, net.JoinHostPort(a.Host, strconv.Itoa(a.QuorumPort)))
		}
	}
	own := false
	for _, e := range []*zab.Ensemble{m.Active, m.next} {
		if e == nil {
			continue
		}
		q := s.QuorumWith(e)
		for i := range q.Members {
			own = own || q.Members[i].ID == s.Config.ServerID
			add(&q.Members[i])
		}
	}
	if line := s.Config.Quorum.Member(s.Config.ServerID); !own && line != nil {
		add(line)
	}
	return all
}

func appendNew(all []string, one string) []string {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}
