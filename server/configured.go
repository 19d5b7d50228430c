package server

import (
	"go.uber.org/zap"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/serve"
)

// runConfigurations is the goroutine that reacts to a committed configuration outside the agreement: it writes the
// files and moves the client ports. meta.db has the configuration already. So no goroutine waits for this one, and
// a failure does not end the server.
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

// configuredNow applies one configuration. A server that is not in the configuration keeps its files and ports, and
// can be started with them again.
func (s *Server) configuredNow(q *config.Quorum) {
	own := q.Member(s.Config.ServerID)
	if own == nil {
		return
	}
	switch name, err := s.Config.WriteMembers(q); {
	case err != nil:
		s.Log.Error("the files could not be changed to the configuration of the ensemble: only meta.db has it",
			zap.Int64("version", q.ConfigVersion),
			zap.Error(err))
	case name != "":
		s.Log.Info("wrote the configuration of the ensemble", zap.String("file", name))
	}
	s.front.MoveClientPort(own.Client, "clientPort", s.front.SpeaksOnClientPort())
	s.front.MoveClientPort(own.Secure, "secureClientPort", serve.SpeaksTLS)
}
