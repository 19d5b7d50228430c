package config

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/proto/hostport"
)

// memberForm is the rule of a server line that cannot be read.
const memberForm = "must have the form HOST:PORT:ELECTION_PORT[:participant|:observer][;[HOST:]CLIENT_PORT], as in " +
	"zk1:2888:3888;2181; a server with several addresses has them before the semicolon, separated by |"

// anyAddress is where a member serves clients if its line gives a port only.
const anyAddress = "0.0.0.0"

// membersMax bounds the servers, and the groups, of one ensemble; and the servers of a group.
const membersMax = 1024

// votersMax bounds the servers that vote, as package quorum of zab does.
const votersMax = 64

// isMemberKey reports whether key belongs to the ensemble: ZooKeeper compares only the beginning of the key.
func isMemberKey(key string) bool {
	return strings.HasPrefix(key, "server.") || strings.HasPrefix(key, "group") || strings.HasPrefix(key, "weight")
}

// memberID reads the N of server.N, group.N and weight.N.
func memberID(key string) (int64, error) {
	text := key[strings.IndexByte(key, '.')+1:]
	if text == "" {
		return 0, rulef("the id is missing, as in %s1", key)
	}
	id, err := parseNumber(text)
	if err != nil {
		return 0, err
	}
	if id < 0 {
		return 0, rule("the id must be at least 0")
	}
	return id, nil
}

// addMember takes one server, group or weight line. Weights wait for their servers in weights.
func (q *Quorum) addMember(key, value string, weights map[int64]int64) (warning string, err error) {
	id, err := memberID(key)
	if err != nil {
		return "", err
	}
	switch {
	case strings.HasPrefix(key, "server."):
		if q.Member(id) != nil {
			return "", rulef("server %d is given twice", id)
		}
		m, err := parseMember(id, value)
		if err != nil {
			return "", err
		}
		if len(q.Members) == membersMax {
			return "", rulef("more than %d servers", membersMax)
		}
		i, _ := slices.BinarySearchFunc(q.Members, id, func(m Member, id int64) int { return cmp.Compare(m.ID, id) })
		q.Members = slices.Insert(q.Members, i, m)
		if id > math.MaxUint8 {
			warning = "an id above 255 does not fit the first byte of session ids"
		}
	case strings.HasPrefix(key, "group"):
		q.Hierarchical = true
		if slices.ContainsFunc(q.Groups, func(g Group) bool { return g.ID == id }) {
			return "", rulef("group %d is given twice", id)
		}
		g, err := parseGroup(id, value)
		if err != nil {
			return "", err
		}
		if len(q.Groups) == membersMax {
			return "", rulef("more than %d groups", membersMax)
		}
		i, _ := slices.BinarySearchFunc(q.Groups, id, func(g Group, id int64) int { return cmp.Compare(g.ID, id) })
		q.Groups = slices.Insert(q.Groups, i, g)
	default:
		q.Hierarchical = true
		n, err := numberWithin(value, 0, math.MaxInt32)
		if err != nil {
			return "", err
		}
		weights[id] = n
	}
	return warning, nil
}

// setWeights gives the members their weights, by id; weights of others count for nothing.
func (q *Quorum) setWeights(weights map[int64]int64) {
	for id, weight := range weights {
		if m := q.Member(id); m != nil {
			m.Weight = weight
		}
	}
}

// parseMember reads the value of server.ID. Source: operations 1.6.
func parseMember(id int64, text string) (Member, error) {
	m := Member{
		ID:     id,
		Client: HostPort{Port: PortUnset},
		Secure: HostPort{Port: PortUnset},
		Weight: 1,
	}
	parts := withoutEnd(strings.Split(text, ";"))
	if len(parts) == 0 || len(parts) > 3 {
		return m, rule(memberForm)
	}
	addresses := withoutEnd(strings.Split(parts[0], "|"))
	if len(addresses) == 0 {
		return m, rule(memberForm)
	}
	for i, address := range addresses {
		a, role, err := parsePeerAddress(trim(address))
		if err != nil {
			return m, err
		}
		if i > 0 && role != m.Role {
			return m, rulef("Multiple addresses should have similar roles: %s vs %s", m.Role, role)
		}
		m.Addresses, m.Role = append(m.Addresses, a), role
	}
	for i, target := range []*HostPort{&m.Client, &m.Secure} {
		if len(parts) <= i+1 {
			break
		}
		part := trim(parts[i+1])
		if part == "" && i == 0 && len(parts) == 3 {
			continue // ";;port" gives the secure port only
		}
		hp, err := parseHostPort(part)
		if err != nil {
			return m, err
		}
		*target = hp
	}
	return m, nil
}

func parsePeerAddress(address string) (PeerAddress, Role, error) {
	none := PeerAddress{}
	fields, ok := splitColons(address)
	if !ok || len(fields) < 2 || len(fields) > 4 {
		return none, Participant, rule(memberForm)
	}
	quorum, err := parsePort(fields[0], fields[1])
	if err != nil {
		return none, Participant, err
	}
	if len(fields) == 2 {
		return none, Participant, rule("the election port is missing: it is the second one, as in zk1:2888:3888")
	}
	election, err := parsePort(fields[0], fields[2])
	if err != nil {
		return none, Participant, err
	}
	if quorum == election {
		return none, Participant, rule("the two ports of a server must differ: the first is for the leader and " +
			"those who follow it, the second for elections")
	}
	role := Participant
	if len(fields) == 4 {
		if role, err = parseRole(fields[3]); err != nil {
			return none, Participant, err
		}
	}
	return PeerAddress{Host: fields[0], QuorumPort: quorum, ElectionPort: election}, role, nil
}

// parseHostPort reads port or host:port of the client part.
func parseHostPort(text string) (HostPort, error) {
	fields, ok := splitColons(text)
	if !ok || len(fields) > 2 {
		return HostPort{}, rule(memberForm)
	}
	host := anyAddress
	if len(fields) == 2 {
		host = fields[0]
	}
	port, err := parsePort(host, fields[len(fields)-1])
	return HostPort{Host: host, Port: port}, err
}

func parsePort(host, text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, rulef("the port %q of %s is not a whole number from 0 to 65535", text, host)
	}
	return int(n), nil
}

// splitColons cuts at colons outside of a leading [IPv6]. It refuses empty fields, but for those at the end.
func splitColons(text string) ([]string, bool) {
	fields, err := hostport.Fields(text)
	fields = withoutEnd(fields)
	return fields, err == nil && len(fields) > 0 && !slices.Contains(fields, "")
}

// withoutEnd leaves out the empty fields at the end, as Java does when it splits a text.
func withoutEnd(fields []string) []string {
	for len(fields) > 0 && trim(fields[len(fields)-1]) == "" {
		fields = fields[:len(fields)-1]
	}
	return fields
}

// parseGroup reads the value of group.ID, which is ids separated by colons.
func parseGroup(id int64, text string) (Group, error) {
	g := Group{ID: id}
	for field := range strings.SplitSeq(text, ":") {
		sid, err := parseNumber(trim(field))
		if err != nil {
			return g, err
		}
		if len(g.Members) == membersMax {
			return g, rulef("more than %d servers in a group", membersMax)
		}
		g.Members = append(g.Members, sid)
	}
	return g, nil
}

// String returns the member in the canonical form of dynamic files and of the config command, without its key:
// host:quorum:election:role, then ;address:port if it serves clients. Source: operations 1.6.
func (m *Member) String() string {
	var b strings.Builder
	for i, a := range m.Addresses {
		if i > 0 {
			b.WriteByte('|')
		}
		fmt.Fprintf(&b, "%s:%d:%s", HostPort{a.Host, a.QuorumPort}, a.ElectionPort, m.Role)
	}
	switch {
	case m.Client.Port != PortUnset:
		b.WriteString(";" + m.Client.String())
	case m.Secure.Port != PortUnset:
		b.WriteByte(';')
	}
	if m.Secure.Port != PortUnset {
		b.WriteString(";" + m.Secure.String())
	}
	return b.String()
}

// ClientAddress is where others find the port of m for clients, as host:port: that of its line, else the usual one; ""
// without either. Of a server that takes clients at every address, it is at the host where its peers find it; of one
// that takes them at 127.0.0.1 alone, only its own machine can.
func (m *Member) ClientAddress(usual int) string {
	at := m.Client
	if at.Port == PortUnset {
		at = HostPort{Port: usual}
	}
	if at.Port == PortUnset {
		return ""
	}
	if isAny(at.Host) && len(m.Addresses) > 0 {
		at.Host = m.Addresses[0].Host
	}
	return at.String()
}

// String returns host:port, with brackets around IPv6.
func (h HostPort) String() string { return net.JoinHostPort(h.Host, strconv.Itoa(h.Port)) }

// Lines returns the members, groups and weights in canonical form, servers first, each by id. They are what
// config and conf show; a dynamic file holds the same lines sorted as strings. Source: operations 1.6.
func (q *Quorum) Lines() []string {
	var lines []string
	for i := range q.Members {
		lines = append(lines, fmt.Sprintf("server.%d=%s", q.Members[i].ID, q.Members[i].String()))
	}
	for _, g := range q.Groups {
		ids := make([]string, len(g.Members))
		for i, id := range g.Members {
			ids[i] = strconv.FormatInt(id, 10)
		}
		lines = append(lines, fmt.Sprintf("group.%d=%s", g.ID, strings.Join(ids, ":")))
	}
	if q.Hierarchical {
		for i := range q.Members {
			lines = append(lines, fmt.Sprintf("weight.%d=%d", q.Members[i].ID, q.Members[i].Weight))
		}
	}
	return lines
}
