package server

import (
	"time"

	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/serve"
)

// bindPause is the time between two attempts to open a client port that was taken.
const bindPause = time.Second

// runConfigurations is the goroutine that reacts to a committed configuration outside the agreement: it writes the
// files and moves the client ports. meta.db has the configuration already. So no goroutine waits for this one, and
// a failure does not end the server. A port that cannot be opened is tried until it can be, or until a configuration
// has another one.
func (s *Server) runConfigurations() {
	var all []*config.Quorum
	var own *config.Member // whose ports are not open yet
	cancel := func() {}
	for {
		s.configured.Wait()
		cancel()
		if s.Stopping.IsOpen() {
			return
		}
		all, _ = s.configured.Take(all)
		triedBefore := len(all) == 0
		if !triedBefore {
			own = s.writeConfiguration(all[len(all)-1])
		}
		if own == nil || s.moveClientPorts(own, triedBefore) {
			own = nil
		} else {
			cancel = s.Runtime.After(bindPause, s.configured.Signal)
		}
	}
}

// writeConfiguration puts a configuration into the files, and returns what it says of this server. A server that is
// not in the configuration keeps its files and ports, and can be started with them again.
func (s *Server) writeConfiguration(q *config.Quorum) (own *config.Member) {
	if own = q.Member(s.Config.ServerID); own == nil {
		return nil
	}
	switch name, err := s.Config.WriteMembers(q); {
	case err != nil:
		s.Log.Error("cannot write the ensemble's configuration to zoo.cfg or its dynamic file: only meta.db has it",
			zap.Int64("version", q.ConfigVersion),
			zap.Error(err))
	case name != "":
		s.Log.Info("wrote the configuration of the ensemble", zap.String("file", name))
	}
	return own
}

// moveClientPorts reports whether clients are served on the ports of the configuration.
func (s *Server) moveClientPorts(own *config.Member, triedBefore bool) bool {
	plain := s.front.MoveClientPort(own.Client, "clientPort", s.front.SpeaksOnClientPort(), triedBefore)
	secure := s.front.MoveClientPort(own.Secure, "secureClientPort", serve.SpeaksTLS, triedBefore)
	return plain && secure
}
