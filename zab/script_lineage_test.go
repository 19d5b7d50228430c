package zab

import (
	"fmt"
	"hash/adler32"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/proto"
)

// Scripts write a lineage as E7:1@1m11,2@3m12+1.5,4@2/4.0: the identity of the ensemble, E if it is final and e if it
// is not, nothing if it is not known; the epochs, each with its leader, its mark and the last txn that it began with;
// and what is settled. A leader that is not known is left out, and so are a mark and a txn of 0. An epoch with a gap
// before it begins with a tilde. Identities and marks are hexadecimal.

// lineage reads one; nil if the argument is missing.
func (a args) lineage() *Lineage {
	text, ok := a["lineage"]
	if !ok {
		return nil
	}
	l := &Lineage{}
	if head, rest, ok := strings.Cut(text, ":"); ok {
		l.Ensemble, l.Final, text = unhex(head[1:]), head[0] == 'E', rest
	}
	text, settled, _ := strings.Cut(text, "/")
	l.Settled = parseZxid(settled)
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		r := Reign{Leader: -1}
		word, r.Gap = strings.CutPrefix(word, "~")
		word, base, _ := strings.Cut(word, "+")
		r.Base = parseZxid(base)
		word, mark, ok := strings.Cut(word, "m")
		if ok {
			r.Mark = unhex(mark)
		}
		epoch, leader, ok := strings.Cut(word, "@")
		if ok {
			r.Leader = proto.ServerID(args{"leader": leader}.int("leader"))
		}
		r.Epoch = args{"epoch": epoch}.int("epoch")
		l.Reigns = append(l.Reigns, r)
	}
	return l
}

func unhex(text string) uint64 {
	n, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// lineageText is a lineage as args.lineage reads it.
func lineageText(l *Lineage) string {
	var b strings.Builder
	if l.Ensemble != 0 {
		fmt.Fprintf(&b, "%s%x:", map[bool]string{true: "E", false: "e"}[l.Final], l.Ensemble)
	}
	for i, r := range l.Reigns {
		if i > 0 {
			b.WriteByte(',')
		}
		if r.Gap {
			b.WriteByte('~')
		}
		fmt.Fprintf(&b, "%d", r.Epoch)
		if r.Leader >= 0 {
			fmt.Fprintf(&b, "@%d", r.Leader)
		}
		if r.Mark != 0 {
			fmt.Fprintf(&b, "m%x", r.Mark)
		}
		if r.Base != 0 {
			fmt.Fprintf(&b, "+%s", z(r.Base))
		}
	}
	return b.String() + "/" + z(l.Settled)
}

// more is what a message says besides, in scripts that give the core a lineage.
func (s *script) more(m *Message) (text string) {
	if !s.lineages {
		return ""
	}
	if m.Whole {
		text += " whole"
	}
	if m.Refused {
		text += " refused"
	}
	if m.Final {
		text += " final"
	}
	if m.Summed {
		text += fmt.Sprintf(" sum %x", m.Sum)
	}
	if m.Lineage != nil {
		text += " lineage " + lineageText(m.Lineage)
	}
	return text
}

// takeLineage prints what an Output says of lineages, in scripts that give the core one.
func (s *script) takeLineage(out *Output) {
	if !s.lineages {
		return
	}
	if out.Lineage != nil {
		s.printf("note lineage %s", lineageText(out.Lineage))
	}
	if o := out.Status.Outside; o != s.status.Outside {
		if o == nil {
			s.printf("is outside no more")
		} else {
			s.printf("is outside, leader %d: %s", o.Leader, o.Reason)
		}
	}
	var all []string
	for _, o := range s.core.Strangers() {
		text := fmt.Sprintf("%d", o.ID)
		if o.Ahead {
			text += " (ahead)"
		}
		if o.Unproven {
			text += " (unproven)"
		}
		all = append(all, text)
	}
	if strangers := strings.Join(all, ", "); strangers != s.strangers {
		s.strangers = strangers
		if len(all) == 0 {
			strangers = "none"
		}
		s.printf("strangers: %s", strangers)
	}
}

func (s *script) persistMore(p *Persist) string {
	if p.Lineage == nil || !s.lineages {
		return ""
	}
	return " lineage " + lineageText(p.Lineage)
}

// sumOf is the checksum of a txn as the scripts make it.
func (s *script) sumOf(a args, name string) (sum uint32, ok bool) {
	if a[name] == "" {
		return 0, false
	}
	return adler32.Checksum(txns(a[name])[0].Payload), true
}
