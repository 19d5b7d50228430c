package server

import "time"

// Occupy makes one turn of the node of an ensemble last for a while, and returns when it has.
func (s *Server) Occupy(d time.Duration) {
	done := make(chan struct{})
	if s.member.do(func() { time.Sleep(d); close(done) }) {
		<-done
	}
}
