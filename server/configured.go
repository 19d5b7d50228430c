package server

import (
	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/serve"
)

// runConfigurations does outside of the agreement what a committed configuration asks for: it writes the files and moves the client
// ports. meta.db has the configuration already, so none of it is waited for, and a failure ends nothing.
func (s *Server) runConfigurations() {
	var all []*config.Quorum
	for {
		s.configured.Wait()
		if s.Stopping.IsOpen() {
			return
		}
		all, _ = s.configured.Take(all)
		if len(all) > 0 {
			s.configuredNow(all[len(all)-1])
		}
	}
}

// configuredNow follows one configuration. A server that it does not have, not yet or not any more, keeps the files and the ports with
// which it was started, and can be started with them again.
func (s *Server) configuredNow(q *config.Quorum) {
	own := q.Member(s.Config.ServerID)
	if own == nil {
		return
	}
	switch name, err := s.Config.WriteMembers(q); {
	case err != nil:
		s.Log.Error("the files could not be changed to the configuration of the ensemble: only meta.db has it", zap.Int64("version", q.ConfigVersion),
			zap.Error(err))
	case name != "":
		s.Log.Info("wrote the configuration of the ensemble", zap.String("file", name))
	}
	s.front.MoveClientPort(own.Client, "clientPort", s.front.SpeaksOnClientPort())
	s.front.MoveClientPort(own.Secure, "secureClientPort", serve.SpeaksTLS)
}
