package zab

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/must"
	"github.com/seed94657493/warren/zab/quorum"
)

var rewrite = flag.Bool("rewrite", false,
	"write the transcripts of testdata/*.txt anew; commit only a difference that you understand")

// TestScripts plays the scripts of testdata. Each is a sequence of inputs to one core, with everything that the
// core does below each of them. The language is that of script.command. Zxids are written epoch.counter, in
// decimal.
func TestScripts(t *testing.T) {
	files := must.Glob(t, "testdata/*.txt")
	closed := must.Glob(t, "testdata/defects/*.txt")
	require.NotEmpty(t, files)
	require.Len(t, closed, len(scripted), "a script for each of these defects")
	for _, file := range append(files, closed...) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text := must.ReadFile(t, file)
			got := play(string(text), func(c Config) Config { return c })
			if *rewrite {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
				return
			}
			require.Equal(t, string(text), got,
				"go test ./zab -run TestScripts -rewrite writes what the core does now")
		})
	}
}

// play runs the commands of a script and returns it with what the core does now. Lines of a transcript begin with
// two spaces.
func play(text string, configure func(Config) Config) string {
	s := &script{configure: configure}
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		fmt.Fprintln(&s.out, line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s.run(strings.Fields(line))
	}
	return s.out.String()
}

// script is one core and the state of its host.
type script struct {
	out       strings.Builder
	configure func(Config) Config
	core      *Core
	status    Status
	log       []Txn // durable, for Locate
	from      proto.Zxid
	over      bool
	seq       Seq
	lineages  bool   // the core was given one
	strangers string // that were printed last
}

func (s *script) printf(format string, args ...any) { fmt.Fprintf(&s.out, "  "+format+"\n", args...) }

// run executes one command and prints what follows from it. A violated invariant ends the script.
func (s *script) run(words []string) {
	if s.over {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			s.printf("panic: %v", r)
			s.over = true
		}
	}()
	last := len(words) - 1
	more := words[last] == "+" // the next input arrives in the same turn, before the host calls Take
	if more {
		words = words[:last]
	}
	s.command(words[0], arguments(words[1:]))
	if !more {
		s.take()
	}
}

type args map[string]string

func arguments(words []string) args {
	a := args{}
	for i, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			a[k] = v
		} else {
			a[strconv.Itoa(i)] = w
			a[w] = "yes"
		}
	}
	return a
}

func (a args) int(k string) int64 {
	n, err := strconv.ParseInt(a[k], 10, 64)
	if a[k] != "" && err != nil {
		panic(err)
	}
	return n
}

func (a args) zxid(k string) proto.Zxid { return parseZxid(a[k]) }

func parseZxid(text string) proto.Zxid {
	if text == "" {
		return 0
	}
	e, c, ok := strings.Cut(text, ".")
	epoch, err := strconv.ParseInt(e, 10, 64)
	if err != nil {
		panic(err)
	}
	if !ok {
		return proto.Zxid(epoch)
	}
	counter, err := strconv.ParseUint(c, 10, 32)
	if err != nil {
		panic(err)
	}
	return proto.MakeZxid(epoch, uint32(counter))
}

// txns parses a list of ranges within an epoch: 1.1-6,2.1-5.
func txns(text string) (all []Txn) {
	if text == "" {
		return nil
	}
	for _, part := range strings.Split(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		z := parseZxid(from)
		end := z
		if ranged {
			end = parseZxid(strconv.FormatInt(z.Epoch(), 10) + "." + to)
		}
		for ; z <= end; z++ {
			all = append(all, Txn{Zxid: z, Payload: []byte{byte(z)}})
		}
	}
	return all
}

func ids(text string) (all []proto.ServerID) {
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(w)
		if err != nil {
			panic(err)
		}
		all = append(all, proto.ServerID(n))
	}
	return all
}

// Locate fulfils History for the log of the script, of which `from` on is on the disk.
func (s *script) Locate(z proto.Zxid) (at, next proto.Zxid, ok bool) {
	for _, t := range s.log {
		if t.Zxid <= z {
			at = t.Zxid
		} else if next == 0 {
			next = t.Zxid
		}
	}
	return at, next, at >= s.from
}

// Sums fulfils History.
func (s *script) Sums(z proto.Zxid) (sums Sums, ok bool) {
	for _, t := range s.log {
		if t.Zxid == z {
			return SumsOf(t.Payload, len(t.Payload)), true
		}
	}
	return Sums{}, false
}

// command is the language: one input each.
func (s *script) command(name string, a args) {
	switch name {
	// new id=2 voters=1,2,3 [observers=4] [masters] [lag=10] [accepted=1 current=1] [log=1.1-6] [window=3]
	// [purged=1.2] [blank] [barrier] [reconfig=1.0] [snaps=1] [diffs=1].
	case "new":
		// [lineage=E7:1@1m11/1.0] [diallimit=1] [dialpause=5] [lookpause=5] [epochwait=5]
		s.create(a)
	case "notify": // notify from=1 state=0 leader=1 zxid=1.3 epoch=1 round=1 [version=2] [lineage=E7:1@1m11/1.0]
		m := Message{Type: Notification, From: proto.ServerID(a.int("from")), To: s.core.cfg.ID,
			State: State(a.int("state")), Round: a.int("round"), Version: 2,
			Vote: Vote{Leader: proto.ServerID(a.int("leader")), Zxid: a.zxid("zxid"), Epoch: a.int("epoch")}}
		if a["version"] != "" {
			m.Version = int32(a.int("version"))
		}
		m.Config, m.Lineage = wireOf(a, "config"), a.lineage()
		s.core.Step(m)
	case "probe": // probe from=1 nonce=7
		s.core.Step(Message{Type: Probe, From: proto.ServerID(a.int("from")), Nonce: uint64(a.int("nonce"))})
	case "empty": // empty from=1: answers the probe of this run
		s.core.Step(Message{Type: ProbeReply, From: proto.ServerID(a.int("from")),
			Nonce: s.core.el.nonce + uint64(a.int("off")), Zxid: a.zxid("zxid"), Epoch: a.int("epoch")})
	case "accept": // accept [master]
		port := LearnerPort
		if a["master"] != "" {
			port = MasterPort
		}
		s.printf("link %d", s.core.Accept(port))
	case "channel": // channel to=1: the election channel was connected anew
		s.core.PeerUp(proto.ServerID(a.int("to")))
	case "up":
		s.core.LinkUp(LinkID(a.int("link")))
	case "down":
		s.core.LinkDown(LinkID(a.int("link")))
	case "streamed":
		s.core.Streamed(LinkID(a.int("link")), a.zxid("zxid"))
	case "persisted": // persisted [upto=3]: all that was asked for, or up to a number
		seq := s.seq
		if a["upto"] != "" {
			seq = Seq(a.int("upto"))
		}
		s.core.Persisted(seq)
	case "tick": // tick 5
		for range max(1, a.int("0")) {
			s.core.Tick()
		}
	case "propose": // propose 3
		var all []Txn
		z := s.core.NextZxid()
		for i := range a.int("0") {
			all = append(all, Txn{Zxid: z + proto.Zxid(i), Payload: []byte{byte(i)}})
		}
		if err := s.core.Propose(all...); err != nil {
			s.printf("error: %v", err)
		}
	case "reconfig": // reconfig 1,2/3: proposes these voters and observers
		z := s.core.NextZxid()
		e := s.ensemble(z, a["0"])
		s.printf("ready %v", s.core.Ready(e))
		if err := s.core.Propose(Txn{Zxid: z, Payload: e.Wire()}); err != nil {
			s.printf("error: %v", err)
		}
	case "sync": // sync link=1 token=7
		if err := s.core.Sync(LinkID(a.int("link")), uint64(a.int("token"))); err != nil {
			s.printf("error: %v", err)
		}
	case "answer": // answer link=2 token=7
		s.core.Answer(LinkID(a.int("link")), uint64(a.int("token")))
	case "handover": // handover [stop]; handover to=2 [dry]
		if a["to"] == "" {
			s.core.HandOver(a["stop"] != "")
		} else if err := s.core.HandOverTo(proto.ServerID(a.int("to")), a["dry"] != ""); err != nil {
			s.printf("error: %v", err)
		}
	case "unfit": // unfit id=2 [no]
		s.core.Unfit(proto.ServerID(a.int("id")), a["no"] == "")
		s.printf("fit: quorum %v, successor %v", s.core.FitQuorum(), s.core.FitSuccessor())
	case "search":
		if f := s.core.Search(); f == nil {
			s.printf("no search")
		} else {
			s.printf("blank %v, empty %v, holding %v, silent %v, stuck %v", f.Blank, f.Empty, f.Holding,
				f.Silent, f.Stuck)
		}
	default: // PROPOSAL link=1 from=3 txns=1.1-3; FOLLOWERINFO, LEADERINFO, NEWLEADER: [lineage=E7:1@1m11/1.0]
		// DIFF, TRUNC: [sum=1.3], the checksum of that txn; [bare=1.4], without its digest
		for t := Notification; int(t) < len(typeNames); t++ {
			if t.String() == name {
				all := txns(a["txns"])
				if n := len(all); n > 0 && a["config"] != "" { // the last of them is the reconfiguration
					all[n-1].Payload = wireOf(a, "config")
				}
				sum, summed := s.sumOf(a, "sum")
				bare, _ := s.sumOf(a, "bare")
				s.core.Step(Message{Type: t, From: proto.ServerID(a.int("from")), To: s.core.cfg.ID,
					Link: LinkID(a.int("link")), Zxid: a.zxid("zxid"), Epoch: a.int("epoch"), Txns: all,
					Leader: proto.ServerID(a.int("leader")), Warren: a["warren"] != "", Blank: a["blank"] != "",
					Repeat: a["warren"] != "" && a["old"] == "", Whole: a["whole"] != "", Refused: a["refused"] != "",
					Final: a["final"] != "", Lineage: a.lineage(), Sum: sum, Bare: bare, Summed: summed,
					ConfigVersion: int64(a.zxid("version")), Config: wireOf(a, "config"), Active: wireOf(a, "active")})
				return
			}
		}
		panic("no such command: " + name)
	}
}

func (s *script) create(a args) {
	q, err := quorum.Majority(ids(a["voters"])...)
	if err != nil {
		panic(err)
	}
	s.log, s.from = txns(a["log"]), a.zxid("purged")
	window := s.log
	if a["window"] != "" {
		window = window[len(window)-int(a.int("window")):]
	}
	before := proto.Zxid(0)
	if k := len(s.log) - len(window); k > 0 {
		before = s.log[k-1].Zxid
	}
	last := before
	if len(window) > 0 {
		last = window[len(window)-1].Zxid
	}
	timing := Timing{TickTime: 10, InitLimit: 4, SyncLimit: 2, FinalizeWait: 2, ResendMin: 4, ResendMax: 100,
		DialPause: 1, DialAttempts: 3}
	timing.DialLimit, timing.ObserverDialPause, timing.ObserverLookPause = int(a.int("diallimit")),
		int(a.int("dialpause")), int(a.int("lookpause"))
	timing.EpochWait = int(a.int("epochwait"))
	limits := Limits{WindowTxns: 500, WindowBytes: 1 << 20, InFlight: 100, LinksMax: 10, LagBytes: 1 << 20,
		CounterMax: counterMax}
	limits.SnapSyncsMax, limits.DiffSyncsMax = int(a.int("snaps")), int(a.int("diffs"))
	if a["counter"] != "" {
		limits.CounterMax = uint32(a.int("counter"))
	}
	cfg := Config{ID: proto.ServerID(a.int("id")), Ensemble: &Ensemble{Quorum: q, Observers: ids(a["observers"])},
		Epochs: Epochs{a.int("accepted"), a.int("current")}, Last: last, Window: window, Before: before,
		Blank: a["blank"] != "", History: s, Rand: rand.New(rand.NewPCG(1, 1)), Timing: timing, Limits: limits}
	cfg.Masters = a["masters"] != ""
	cfg.Lineage = a.lineage()
	s.lineages = cfg.Lineage != nil
	if a["lag"] != "" {
		cfg.Limits.LagBytes = int(a.int("lag"))
	}
	if a["barrier"] != "" {
		cfg.Barrier = func(proto.Zxid) []byte { return []byte("barrier") }
	}
	if a["reconfig"] != "" { // the version of the configuration
		cfg.Roster, cfg.Ensemble.Version = roster{}, a.zxid("reconfig")
		cfg.Ensemble.Text = []byte(a["voters"] + "/" + a["observers"])
	}
	core, err := New(s.configure(cfg))
	if err != nil {
		panic(err)
	}
	s.core, s.status = core, Status{}
}

func z(v proto.Zxid) string {
	if v < 0 {
		return strconv.FormatInt(int64(v), 10)
	}
	return fmt.Sprintf("%d.%d", v.Epoch(), v.Counter())
}

// take prints the Output.
func (s *script) take() {
	out := s.core.Take()
	for _, p := range out.Persist {
		s.printf("%s%s", persistText(&p), s.persistMore(&p))
		s.seq = p.Seq
	}
	for i := range out.Send {
		s.printf("send %s%s", messageText(&out.Send[i]), s.more(&out.Send[i]))
	}
	if n := len(out.Deliver); n > 0 {
		s.printf("deliver %s..%s", z(out.Deliver[0].Zxid), z(out.Deliver[n-1].Zxid))
	}
	for _, d := range out.Dial {
		s.printf("dial %d as link %d%s", d.Peer, d.Link, map[Port]string{MasterPort: ", a follower"}[d.Port])
	}
	for _, l := range out.Close {
		if slices.Contains(out.Throttled, l) {
			s.printf("close link %d: too many are being brought up to date", l)
			continue
		}
		s.printf("close link %d", l)
	}
	for _, token := range out.Synced {
		s.printf("synced %d", token)
	}
	s.takeLineage(&out)
	st := out.Status
	if outside := s.status.Outside; st.Outside != outside {
		s.status.Outside = st.Outside
	}
	if st != s.status {
		s.printf("is %v %v, leader %d, epoch %d, serving %v%s", st.State, st.Phase, st.Leader, st.Epoch, st.Serving,
			map[bool]string{true: ", stopped"}[st.Stopped])
		if st.Reason != s.status.Reason {
			s.printf("because: %s", st.Reason)
		}
	}
	s.status = st
	if out.Renew {
		s.printf("renew")
		s.core.Renew()
		s.take()
	}
}

func persistText(p *Persist) string {
	text := fmt.Sprintf("persist %d:", p.Seq)
	if p.Interim != nil {
		text += " lineage " + lineageText(p.Interim)
	}
	if p.Truncate {
		text += " truncate to " + z(p.Last)
	}
	if p.Install != nil {
		text += fmt.Sprintf(" install link %d + %d txns at %s", p.Install.Link, len(p.Install.Txns), z(p.Install.Last))
	}
	if n := len(p.Append); n > 0 {
		text += fmt.Sprintf(" append %s..%s", z(p.Append[0].Zxid), z(p.Append[n-1].Zxid))
	}
	if p.AcceptedEpoch >= 0 {
		text += fmt.Sprintf(" acceptedEpoch %d", p.AcceptedEpoch)
	}
	if p.CurrentEpoch >= 0 {
		text += fmt.Sprintf(" currentEpoch %d", p.CurrentEpoch)
	}
	if p.Initialize {
		text += " initialize"
	}
	if p.Ensemble != nil {
		text += fmt.Sprintf(" configuration %s %s", z(p.Ensemble.Version), p.Ensemble.Text)
	}
	return text
}

func messageText(m *Message) string {
	text := fmt.Sprintf("%v to %d", m.Type, m.To)
	if m.Link != 0 {
		text += fmt.Sprintf(" link %d", m.Link)
	}
	switch m.Type {
	case Notification:
		return text + fmt.Sprintf(": %v, votes %d (epoch %d, %s), round %d", m.State, m.Vote.Leader, m.Vote.Epoch,
			z(m.Vote.Zxid), m.Round)
	case Proposal, Inform:
		return text + fmt.Sprintf(": %s..%s", z(m.Txns[0].Zxid), z(m.Txns[len(m.Txns)-1].Zxid))
	case Activate, InformActive:
		return text + fmt.Sprintf(": %s, %d leads", z(m.Zxid), m.Leader)
	case NewLeader:
		text += fmt.Sprintf(": epoch %d", m.Epoch)
		if m.Active != nil {
			text += fmt.Sprintf(", configuration %q, committed %q", m.Config, m.Active)
		}
		return text
	case FollowerInfo, ObserverInfo, LeaderInfo:
		text += fmt.Sprintf(": epoch %d", m.Epoch)
		if m.Blank {
			text += " blank"
		}
		return text
	case AckEpoch:
		return text + fmt.Sprintf(": currentEpoch %d, %s", m.Epoch, z(m.Zxid))
	case ProbeReply:
		return text + fmt.Sprintf(": acceptedEpoch %d, %s, nonce %d", m.Epoch, z(m.Zxid), m.Nonce)
	case Replay:
		return text + fmt.Sprintf(": after %s up to %s", z(m.After), z(m.Zxid))
	case HandOver:
		return text + fmt.Sprintf(": next is %d", m.Leader)
	case SyncReply:
		return text + fmt.Sprintf(": token %d", m.Token)
	case Probe, UpToDate:
		return text
	}
	return text + ": " + z(m.Zxid)
}

// roster reads configurations: voters and observers, as 1,2,3/4. A txn with such a text, or PROPOSAL config=...,
// is a reconfiguration.
type roster struct{}

func (roster) Parse(text []byte) (*Ensemble, error) {
	body, hex, ok := strings.Cut(string(text), "\nversion=")
	version, err := strconv.ParseUint(hex, 16, 64)
	if !ok || err != nil {
		return nil, fmt.Errorf("no configuration: %q", text)
	}
	voters, observers, _ := strings.Cut(body, "/")
	q, err := quorum.Majority(ids(voters)...)
	return &Ensemble{Version: proto.Zxid(version), Quorum: q, Observers: ids(observers), Text: []byte(body)}, err
}

func (r roster) Proposed(t Txn) (*Ensemble, error) {
	if !strings.Contains(string(t.Payload), "\nversion=") {
		return nil, nil
	}
	return r.Parse(t.Payload)
}

// ensemble reads a configuration of a script.
func (s *script) ensemble(version proto.Zxid, text string) *Ensemble {
	e, err := roster{}.Parse((&Ensemble{Version: version, Text: []byte(text)}).Wire())
	if err != nil {
		panic(err)
	}
	return e
}

// wireOf is the text of a configuration that a script writes as 1,2,3/4@1.5.
func wireOf(a args, key string) []byte {
	text, version, ok := strings.Cut(a[key], "@")
	if !ok {
		return nil
	}
	return (&Ensemble{Version: parseZxid(version), Text: []byte(text)}).Wire()
}
