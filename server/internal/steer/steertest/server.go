// Package steertest has a steer.Server for tests, which notes what it was told. It is for one goroutine.
package steertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/seed94657493/warren/server/internal/steer"
)

// Server has 14 clients and the session s-1, is server 1, and knows server 9 as one that cannot lead.
type Server struct {
	Told  []string // each call that may change something
	Alone bool     // it is no member of an ensemble
	Last  steer.TakenSnapshot
	Now   steer.Drained
	Log   steer.Level
}

var _ steer.Server = new(Server)

func (s *Server) tell(format string, args ...any) {
	s.Told = append(s.Told, fmt.Sprintf(format, args...))
}

// Shed implements steer.Server.
func (s *Server) Shed(percent int) int {
	s.tell("shed %d", percent)
	return s.Clients() * percent / 100
}

// Clients implements steer.Server.
func (s *Server) Clients() int { return 14 }

// Drain implements steer.Server.
func (s *Server) Drain(rate int, dry bool) error {
	s.tell("drain %d %t", rate, dry)
	if s.Alone {
		return errors.New("no other server")
	}
	if !dry {
		s.Now = steer.Drained{Draining: rate > 0, Clients: s.Clients(), Rate: rate}
	}
	return nil
}

// Drained implements steer.Server.
func (s *Server) Drained() steer.Drained { return s.Now }

// HandOver implements steer.Server.
func (s *Server) HandOver(to int64, dry bool) (steer.HandedOver, error) {
	s.tell("hand over to %d %t", to, dry)
	if to == 9 {
		return steer.HandedOver{}, errors.New("server 9 cannot lead next")
	}
	return steer.HandedOver{From: 1, To: to, Leader: to, TookMs: 12}, nil
}

// EndSession implements steer.Server.
func (s *Server) EndSession(session string, dry bool) (steer.EndedSession, error) {
	s.tell("end %s %t", session, dry)
	if session != "s-1" {
		return steer.EndedSession{}, errors.New("no such session")
	}
	return steer.EndedSession{Label: session, Client: "10.0.0.9:4001", TimeoutMs: 4000, Ephemerals: 2,
		Ended: !dry}, nil
}

// LogLevel implements steer.Server.
func (s *Server) LogLevel() steer.Level { return s.Log }

// SetLogLevel implements steer.Server.
func (s *Server) SetLogLevel(level zapcore.Level, last time.Duration) error {
	s.tell("level %v for %v", level, last)
	s.Log = steer.Level{Level: level.String()}
	return nil
}

// LastSnapshot implements steer.Server.
func (s *Server) LastSnapshot() steer.TakenSnapshot { return s.Last }

// TakeSnapshot implements steer.Server.
func (s *Server) TakeSnapshot(context.Context) (steer.TakenSnapshot, error) {
	s.tell("snapshot")
	s.Last = steer.TakenSnapshot{Zxid: "0x100000007", Bytes: 20, Taken: true}
	return s.Last, nil
}
