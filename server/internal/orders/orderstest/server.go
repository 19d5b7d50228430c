// Package orderstest has a orders.Server for tests, which notes what it was told. It is for one goroutine.
package orderstest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/seed94657493/warren/internal/answers"
	"github.com/seed94657493/warren/server/internal/orders"
)

// Server is an orders.Server that has 14 clients and the session s-1, is server 1, and knows server 9 as one that
// cannot lead.
type Server struct {
	Told  []string // each call that may change something
	Alone bool     // it is no member of an ensemble
	Last  answers.TakenSnapshot
	Now   answers.Drained
	Log   answers.Level
}

var _ orders.Server = new(Server)

func (s *Server) tell(format string, args ...any) {
	s.Told = append(s.Told, fmt.Sprintf(format, args...))
}

func (s *Server) Shed(percent int) int {
	s.tell("shed %d", percent)
	return s.Clients() * percent / 100
}

func (s *Server) Clients() int { return 14 }

func (s *Server) Drain(rate int, dry bool) error {
	s.tell("drain %d %t", rate, dry)
	if s.Alone {
		return errors.New("no other server")
	}
	if !dry {
		s.Now = answers.Drained{Draining: rate > 0, Clients: s.Clients(), Rate: rate}
	}
	return nil
}

func (s *Server) Drained() answers.Drained { return s.Now }

func (s *Server) HandOver(to int64, dry bool) (answers.HandedOver, error) {
	s.tell("hand over to %d %t", to, dry)
	if to == 9 {
		return answers.HandedOver{}, errors.New("server 9 cannot lead next")
	}
	return answers.HandedOver{From: 1, To: to, Leader: to, TookMs: 12}, nil
}

func (s *Server) EndSession(session string, dry bool) (answers.EndedSession, error) {
	s.tell("end %s %t", session, dry)
	if session != "s-1" {
		return answers.EndedSession{}, errors.New("no such session")
	}
	return answers.EndedSession{Label: session, Client: "10.0.0.9:4001", TimeoutMs: 4000, Ephemerals: 2,
		Ended: !dry}, nil
}

func (s *Server) LogLevel() answers.Level { return s.Log }

func (s *Server) SetLogLevel(level zapcore.Level, last time.Duration) error {
	s.tell("level %v for %v", level, last)
	s.Log = answers.Level{Level: level.String()}
	return nil
}

func (s *Server) LastSnapshot() answers.TakenSnapshot { return s.Last }

func (s *Server) TakeSnapshot(context.Context) (answers.TakenSnapshot, error) {
	s.tell("snapshot")
	s.Last = answers.TakenSnapshot{Zxid: "0x100000007", Bytes: 20, Taken: true}
	return s.Last, nil
}
