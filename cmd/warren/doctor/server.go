package doctor

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/proto/hostport"
)

// answers is what one server said.
type answers struct {
	address string
	err     error // of srvr: it could not be asked

	facts  findings.Server   // of it
	others []findings.Server // what it knows of others
	text   string            // of srvr
	denied []string          // words that are not in the whitelist

	conf       map[string]string
	membership string            // of conf, as it is
	numbers    map[string]string // of mntr, without zk_
	digests    map[proto.Zxid]string
	perHost    map[string]int // connections of each address, of cons

	clock   time.Time // of the server, zero if it is not known
	asked   time.Time // when clock was asked, by ours
	certEnd time.Time // of the certificate of its secure port, zero if there is none
	certErr error

	program string // Warren or ZooKeeper; empty if that is not known
}

// wordBytesMax bounds one answer.
const wordBytesMax = 16 << 20

// ask sends one four-letter word. An answer counts even if the connection broke after it.
func (o *Ensemble) ask(ctx context.Context, address, word string) (text string, err error) {
	var secure *tls.Config
	if o.TLS != nil {
		if secure, err = o.TLS(address); err != nil {
			return "", err
		}
	}
	if text, err = AskWord(ctx, address, word, o.Timeout, secure, wordBytesMax); text != "" {
		err = nil
	}
	return text, err
}

// AskWord sends a four-letter word to a TLS port, or with nil to a plain one. It returns the answer, of which it reads
// at most so many bytes, even if the connection broke. Source: operations 2.1.
func AskWord(ctx context.Context, address, word string, timeout time.Duration, secure *tls.Config,
	most int64) (string, error) {
	if _, _, err := hostport.Split(address); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if secure != nil {
		conn = tls.Client(conn, secure)
	}
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(conn, most))
	return string(b), err
}

// ErrNoAnswer tells of an empty answer to a word that every server answers.
var ErrNoAnswer = errors.New("the connection was closed without an answer: is this a client port, and a plain one? " +
	"For TLS name a --client-configuration")

// recordWord is the word that Warren answers with all that it knows of itself and of the other servers, as JSON.
const recordWord = "fact"

// examine asks one server everything.
func (o *Ensemble) examine(ctx context.Context, address string) *answers {
	a := &answers{address: address, digests: map[proto.Zxid]string{}, perHost: map[string]int{}}
	a.facts = findings.Server{ID: findings.NoServer, Address: address, Named: true}
	a.text, a.err = o.ask(ctx, address, "srvr")
	switch {
	case a.err != nil:
	case a.text == "":
		a.err = ErrNoAnswer
	case !isAnswer(a.text):
		a.err = fmt.Errorf("what answers is no ZooKeeper server: %.60q", firstLine(a.text))
	}
	if a.err != nil {
		var unresolved *net.DNSError
		a.facts.Silent, a.facts.Nameless = wording.About(address, a.err), errors.As(a.err, &unresolved)
		return a
	}
	texts := map[string]string{}
	for _, word := range []string{"mntr", "conf", "hash", "cons"} {
		text, err := o.ask(ctx, address, word)
		if err != nil || strings.Contains(text, "is not executed because it is not in the whitelist") {
			a.denied = append(a.denied, word)
		} else {
			texts[word] = text
		}
	}
	a.numbers = findings.Numbered(texts["mntr"])
	a.conf, a.membership = findings.Configured(texts["conf"])
	a.parseHash(texts["hash"])
	a.parseCons(texts["cons"])
	if o.askRecord(ctx, a) {
		a.program = a.facts.Program
	} else {
		a.facts.Heard = o.Now()
		a.facts.Read(&findings.Words{Srvr: a.text, Mntr: texts["mntr"], Conf: texts["conf"]})
		o.askProgram(ctx, a)
		o.askClock(ctx, a)
	}
	o.askCertificate(ctx, a)
	return a
}

// isAnswer reports whether a text is an answer of a server to srvr. At a port of another kind, such as an admin port,
// there is something that answers, and tells nothing of whether clients are served.
func isAnswer(text string) bool {
	return strings.Contains(text, "Mode: ") || strings.Contains(text, "not currently serving requests") ||
		strings.HasPrefix(text, "srvr is not executed")
}

// The programs that a server may be. Their versions follow where they are known.
const (
	Warren    = "Warren"
	ZooKeeper = "ZooKeeper"
)

// askProgram finds out what a server is that has not told its record: one of Warren may refuse that word, or not know
// it, and no Java runs it.
func (o *Ensemble) askProgram(ctx context.Context, a *answers) {
	if slices.Contains(a.denied, recordWord) {
		a.program = Warren
		return
	}
	text, err := o.ask(ctx, a.address, "envi")
	if _, java, ok := strings.Cut(text, "\njava.version="); err == nil && ok {
		if a.program = Warren; !strings.HasPrefix(java, "n/a") {
			version, _, _ := strings.Cut(a.facts.Version, "-")
			a.program = strings.TrimSpace(ZooKeeper + " " + version)
		}
	}
}

// askRecord asks for what Warren tells of itself and of the others. It reports false for other servers.
func (o *Ensemble) askRecord(ctx context.Context, a *answers) bool {
	text, err := o.ask(ctx, a.address, recordWord)
	if err == nil && strings.HasPrefix(text, recordWord+" is not executed") {
		a.denied = append(a.denied, recordWord)
		return false
	}
	record, ok := findings.ParseRecord(text)
	if err != nil || !ok {
		return false
	}
	a.facts, a.others = record.Self, record.Others
	a.facts.Address, a.facts.Silent = a.address, ""
	a.clock, a.asked = record.Self.Clock, o.Now()
	a.facts.Heard = a.asked
	a.denied = slices.DeleteFunc(a.denied, func(word string) bool { return word == "mntr" })
	return true
}

func (a *answers) parseHash(text string) {
	for line := range strings.Lines(text) {
		zxid, digest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if z, err := strconv.ParseInt(zxid, 16, 64); ok && err == nil {
			a.digests[proto.Zxid(z)] = digest
		}
	}
}

var clientAddress = regexp.MustCompile(`^ /(.*):\d+\[`)

func (a *answers) parseCons(text string) {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if m := clientAddress.FindStringSubmatch(lines.Text()); m != nil {
			a.perHost[m[1]]++
		}
	}
}

func (a *answers) number(key string) (float64, bool) {
	v, err := strconv.ParseFloat(a.numbers[key], 64)
	return v, err == nil
}

// askClock takes the time, which an admin server says in every answer, to the second. There need not be an admin
// server.
func (o *Ensemble) askClock(ctx context.Context, a *answers) {
	port := &AdminPort{Port: o.AdminPort, Timeout: o.Timeout, TLS: o.TLS}
	answer, err := port.Get(ctx, a.address, "/commands/ruok")
	if err != nil {
		return // no admin server, or not on this port
	}
	if at, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		a.clock, a.asked = at, o.Now()
	}
}

// askCertificate looks at the certificate of the secure client port. The handshake need not succeed: the server shows
// its certificate before it asks for ours.
func (o *Ensemble) askCertificate(ctx context.Context, a *answers) {
	port := a.conf["secureClientPort"]
	host, _, err := net.SplitHostPort(a.address)
	if n, numErr := strconv.Atoi(port); err != nil || numErr != nil || n <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	var seen *x509.Certificate
	d := tls.Dialer{Config: &tls.Config{
		InsecureSkipVerify: true, // it is looked at, not trusted
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) == 0 {
				return nil
			}
			seen, err = x509.ParseCertificate(raw[0])
			return err
		},
	}}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err == nil {
		conn.Close()
	}
	if seen != nil {
		a.certEnd = seen.NotAfter
	} else {
		a.certErr = err
	}
}
