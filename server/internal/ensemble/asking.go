package ensemble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/server/config"
)

// RecordWord is the four-letter word that Warren answers with its Record, as JSON: to the hosts of its ensemble, to
// its own, and to all if the whitelist has the word. ZooKeeper does not know it.
const RecordWord = "fact"

// Refused is the answer to a word that is not in the whitelist, behind the word.
const Refused = " is not executed because it is not in the whitelist.\n"

// askWait is how long a server may take for its answers, and answerMax how many bytes one may have.
const askWait, answerMax = time.Second, 256 << 10

// askOthers asks the servers of the configuration by four-letter words at their client ports: RecordWord, and those
// of ZooKeeper if they do not know it. Only addresses of the configuration are asked. This server asks at its own
// address, too, and finds a twin there.
func (f *Facts) askOthers() {
	if !f.Config.Distributed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	k, now := &f.keeper, f.Runtime.Now()
	members := f.Membership().Members
	heard := make([]heardServer, len(members))
	names, asked := k.lookUp(ctx, members, now)
	for i := range members {
		record := k.mayTellRecord(members[i].ID, now)
		asked.Go(func() {
			heard[i] = k.askMember(ctx, &members[i], f.Config.ClientPort, names, record)
			heard[i].twin = twinOf(&heard[i], int64(f.host.ID), k.instance, f.Runtime.Now().Sub(f.Began))
		})
	}
	asked.Wait()
	k.keep(heard, int64(f.host.ID), f.Runtime.Now())
}

// mayTellRecord reports whether a server is to be asked for its record. ZooKeeper takes the word for a request that is
// too long, and logs it: it is asked once in tellEvery.
func (k *keeper) mayTellRecord(id int64, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return now.Sub(k.plain[id]) >= tellEvery
}

// heardServer is what came of asking a server.
type heardServer struct {
	findings.Server
	guessed bool              // the address is a guess
	refuses bool              // it is one of Warren, and does not know this server as a member
	instead *findings.Server  // that answers at the address of this one, and is another
	others  []findings.Server // that it has told of
	twin    *findings.Server  // that it has told of, and has the id of the server that asks
	tookMs  float64
}

// keep replaces what was known of the others.
func (k *keeper) keep(heard []heardServer, own int64, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	last := k.byID()
	k.others = nil // those who have the old ones go on with them
	for i := range heard {
		s := &heard[i]
		if s.ID == own {
			if s.Silent == "" && s.Instance != 0 && s.Instance != k.instance {
				k.others = append(k.others, at(s.Server, now))
			} else if s.Silent == "" && s.Instance != 0 {
				k.address = s.Address
			}
			continue
		}
		k.times[s.ID] = s.tookMs
		if s.Silent != "" || s.Instance != 0 || s.refuses {
			delete(k.plain, s.ID)
		} else if _, known := k.plain[s.ID]; s.Address != "" && !known {
			k.plain[s.ID] = now.Add(-tellEvery) // it may have begun to answer a moment ago: it is asked again at once
		} else if s.Address != "" && now.Sub(k.plain[s.ID]) >= tellEvery {
			k.plain[s.ID] = now
		}
		k.others = append(k.others, follow(last[s.ID], s, now))
	}
	for i := range heard {
		for _, s := range []*findings.Server{heard[i].instead, heard[i].twin} {
			if s != nil && s.Instance == k.instance {
				k.address = s.Address
			} else if s != nil && !slices.ContainsFunc(k.others, func(o findings.Server) bool {
				return o.Known() && o.Instance == s.Instance
			}) {
				k.others = append(k.others, at(*s, now))
			}
		}
	}
}

// twinOf returns the server that s has heard under the id of this server, which is another process; nil if there is
// none. What s has heard before this process began, uptime ago, may be what it was before.
func twinOf(s *heardServer, own int64, instance uint64, uptime time.Duration) *findings.Server {
	if s.Instance == instance {
		return nil // it was this server, and tells what it has got here
	}
	for i := range s.others {
		o := &s.others[i]
		if o.ID == own && o.Known() && o.Instance != 0 && o.Instance != instance &&
			s.Clock.Sub(o.Heard)+2*askWait < uptime {
			return o
		}
	}
	return nil
}

// follow returns what is known of a server from now on, of which last was known before.
func follow(last findings.Server, s *heardServer, now time.Time) findings.Server {
	switch {
	case s.Silent == "" && s.Address != "":
		is := at(s.Server, now)
		if is.Since.IsZero() { // its words do not tell
			is.Since = now
			if last.Known() && last.Mode == is.Mode && last.Serving == is.Serving && !last.Since.IsZero() {
				is.Since = last.Since
			}
		}
		switch {
		case is.Draining:
			is.Drained = now
		case !is.Serving:
			is.Drained = last.Drained
		}
		return is
	case last.Heard.IsZero() && (s.guessed || s.Address == ""):
		return findings.Server{ID: s.ID, Voter: s.Voter} // nothing shows that the address is right
	}
	since := last.SilentSince
	if last.Silent == "" {
		since = now
	}
	last.ID, last.Voter, last.Address, last.Silent, last.SilentSince = s.ID, s.Voter, s.Address, s.Silent, since
	return last
}

// at returns what a server has just said, with its times by the clock of this one.
func at(s findings.Server, now time.Time) findings.Server {
	away := now.Sub(s.Clock)
	if s.Heard = now; s.Clock.IsZero() || max(away, -away) < 2*askWait {
		return s
	}
	for _, t := range []*time.Time{&s.Began, &s.Since} {
		if !t.IsZero() {
			*t = t.Add(away)
		}
	}
	for i := range s.Rivals {
		s.Rivals[i].Heard = s.Rivals[i].Heard.Add(away)
	}
	for i := range s.Own {
		if !s.Own[i].Since.IsZero() {
			s.Own[i].Since = s.Own[i].Since.Add(away)
		}
	}
	return s
}

// askMember asks one server of the configuration, as soon as its name is resolved or known from before.
func (k *keeper) askMember(ctx context.Context, m *config.Member, usualPort int, names lookups,
	record bool) (s heardServer) {
	address := m.ClientAddress(config.PortUnset)
	s.guessed = address == ""
	if s.guessed && usualPort > 0 && len(m.Addresses) > 0 { // most often all servers have the same port
		address = net.JoinHostPort(m.Addresses[0].Host, strconv.Itoa(usualPort))
	}
	if address != "" {
		host, _, _ := net.SplitHostPort(address)
		k.wait(ctx, names[host], host)
		began := time.Now()
		found, others, refuses, err := k.askServer(ctx, address, record)
		s.tookMs, s.refuses = float64(time.Since(began).Microseconds())/1000, refuses
		switch {
		case err != nil:
			s.Silent = err.Error()
		case found.ID == m.ID || found.ID == findings.NoServer && !s.guessed:
			s.Server, s.others = *found, others
		case found.ID == findings.NoServer:
			s.Silent = "what answers there does not tell which server it is"
		default:
			s.Silent = fmt.Sprintf("server %d answers in its place", found.ID)
			if found.Instance != 0 {
				s.instead, found.Address = found, address
			}
		}
	}
	s.ID, s.Address, s.Voter = m.ID, address, m.Role == config.Participant
	return s
}

// errLate tells that a server has not answered in time.
var errLate = errors.New("timed out after a second")

// errNothing tells that a server has said nothing that is understood.
var errNothing = errors.New("what answers is not a client port without TLS")

// askServer asks one server for its record, if that is wanted, and else srvr, which every server answers, and the
// words that it may refuse. It returns what the server tells of itself and of others. The id of a server that does not
// tell it is NoServer. A server of Warren may refuse its record: if it has not resolved this server's name yet, or
// this one calls from an address that no name has.
func (k *keeper) askServer(ctx context.Context, address string, wantRecord bool) (s *findings.Server,
	others []findings.Server, refuses bool, err error) {
	if wantRecord {
		text, err := k.askWord(ctx, address, RecordWord)
		if record, ok := findings.ParseRecord(text); err == nil && ok {
			return &record.Self, record.Others, false, nil
		}
		refuses = err == nil && text == RecordWord+Refused
	}
	s = &findings.Server{ID: findings.NoServer}
	var w findings.Words
	if w.Srvr, err = k.askWord(ctx, address, "srvr"); err != nil {
		return nil, nil, refuses, err
	}
	if !strings.HasPrefix(w.Srvr, "Zookeeper version") && !strings.Contains(w.Srvr, "not currently serving") {
		return nil, nil, refuses, errNothing
	}
	for word, answer := range map[string]*string{"mntr": &w.Mntr, "conf": &w.Conf} {
		if text, err := k.askWord(ctx, address, word); err == nil {
			*answer = text
		}
	}
	s.Read(&w)
	return s, nil, refuses, nil
}

func (k *keeper) askWord(ctx context.Context, address, word string) (string, error) {
	text, err := k.askBytes(ctx, address, word, answerMax)
	return string(text), err
}

// askBytes returns the answer to a four-letter word and what is behind it, of at most so many bytes.
func (k *keeper) askBytes(ctx context.Context, address, word string, most int64) ([]byte, error) {
	nc, err := k.dial(ctx, address)
	if err != nil {
		return nil, plainly(err)
	}
	defer func() { _ = nc.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = nc.SetDeadline(deadline)
	}
	if _, err := io.WriteString(nc, word); err != nil {
		return nil, plainly(err)
	}
	text, err := io.ReadAll(io.LimitReader(nc, most))
	if len(text) > 0 {
		err = nil // a server that closes at once may reset the connection
	}
	return text, plainly(err)
}

// plainly returns the cause of an error of the network, without addresses, which the reader has.
func plainly(err error) error {
	var op *net.OpError
	var call *os.SyscallError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return errLate
	case errors.As(err, &call):
		return call.Err
	case errors.As(err, &op):
		return op.Err
	}
	return err
}
