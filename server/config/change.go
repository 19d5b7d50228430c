package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ParseMembers reads a configuration of the ensemble as its znode, NEWLEADER and notifications carry it: server,
// group and weight lines, and perhaps the line version. Of the result only Members, Groups, Hierarchical and
// ConfigVersion are set; ConfigVersion is 0 without the line. It does not check whether the voters can form a
// quorum. Source: quorum-protocol 11.1.
func ParseMembers(text []byte) (*Quorum, error) {
	if len(text) > fileBytesMax {
		return nil, fmt.Errorf("config: the configuration of the ensemble has %d bytes, at most %d are read",
			len(text), fileBytesMax)
	}
	entries, problems := parseProperties(text, "")
	if len(problems) > 0 {
		return nil, fmt.Errorf("config: configuration of the ensemble: %w", problems)
	}
	q := &Quorum{}
	weights := map[int64]int64{}
	for _, e := range entries {
		var err error
		switch {
		case e.key == "version":
			q.ConfigVersion, err = strconv.ParseInt(e.value, 16, 64)
			if err == nil && q.ConfigVersion < 0 {
				err = rule("must be at least 0")
			}
		case !isMemberKey(e.key):
			err = rule("Unrecognised parameter: " + e.key + onlyMembers)
		default:
			_, err = q.addMember(e.key, e.value, weights)
		}
		if err != nil {
			return nil, fmt.Errorf("config: configuration of the ensemble: line %d: %s = %q: %w", e.line,
				e.key, e.value, err)
		}
	}
	q.setWeights(weights)
	return q, nil
}

// Replaced returns the configuration that a reconfiguration with a whole list of members asks for. The lines are
// separated by commas or line ends. Source: quorum-protocol 11.4 step 4.
func Replaced(members string) (*Quorum, error) {
	return ParseMembers([]byte(strings.ReplaceAll(members, ",", "\n")))
}

// Changed returns q without the servers whose ids are listed in leaving, and with the server lines in joining,
// which add servers or replace their lines. Both lists are separated by commas. Only majorities can be changed
// so. Source: quorum-protocol 11.4 step 4.
func (q *Quorum) Changed(joining, leaving string) (*Quorum, error) {
	if q.Hierarchical {
		return nil, rule("Incremental reconfig requested but last configuration seen has a non-majority quorum system")
	}
	next := &Quorum{Members: slices.Clone(q.Members)}
	for _, text := range listed(leaving) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, rulef("%s is no server id", text)
		}
		next.remove(id)
	}
	for _, text := range listed(joining) {
		key, value, ok := strings.Cut(text, "=")
		if !ok || strings.Contains(value, "=") {
			return nil, rulef("Wrong format of server string: %s", text)
		}
		id, err := memberID(trim(key))
		if err != nil {
			return nil, err
		}
		m, err := parseMember(id, trim(value))
		if err != nil {
			return nil, err
		}
		if m.Client.Port == PortUnset && m.Secure.Port == PortUnset {
			return nil, rulef("Wrong format of server string - each server should have 3 ports specified: %s", text)
		}
		next.remove(id)
		if err := next.collision(&m); err != nil {
			return nil, err
		}
		if len(next.Members) == membersMax {
			return nil, rulef("more than %d servers", membersMax)
		}
		next.Members = append(next.Members, m)
	}
	slices.SortFunc(next.Members, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	return next, nil
}

// listed returns the parts of a list, trimmed, without empty ones.
func listed(text string) (parts []string) {
	for part := range strings.SplitSeq(text, ",") {
		if part = trim(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

func (q *Quorum) remove(id int64) {
	q.Members = slices.DeleteFunc(q.Members, func(m Member) bool { return m.ID == id })
}

// collision returns an error if an address of m is one of another member. Several may serve clients at an address that
// every machine has.
func (q *Quorum) collision(m *Member) error {
	own := m.ports()
	if c := m.Client; c.Port != PortUnset && !isOfEveryMachine(c.Host) {
		own = append(own, c.String())
	}
	for i := range q.Members {
		other := &q.Members[i]
		taken := other.ports()
		if other.Client.Port != PortUnset {
			taken = append(taken, other.Client.String())
		}
		for _, a := range own {
			if slices.Contains(taken, a) {
				return rulef("%s of server.%d conflicts %s of server.%d", a, m.ID, a, other.ID)
			}
		}
	}
	return nil
}

// isOfEveryMachine reports whether each machine has an address of its own by this name.
func isOfEveryMachine(host string) bool {
	a, err := netip.ParseAddr(host)
	return isAny(host) || host == "localhost" || err == nil && a.IsLoopback()
}

// ports returns the addresses of m for other servers, as host:port.
func (m *Member) ports() (all []string) {
	for _, a := range m.Addresses {
		all = append(all, HostPort{a.Host, a.QuorumPort}.String(), HostPort{a.Host, a.ElectionPort}.String())
	}
	return all
}

// Permits returns nil if the settings of this server allow next as the configuration, and otherwise the reason:
// standaloneEnabled wants two voters, and several addresses of one server need multiAddress.enabled. Source:
// quorum-protocol 11.4 step 5, operations 1.3.
func (q *Quorum) Permits(next *Quorum) error {
	least := 1
	if q.StandaloneEnabled {
		least = 2
	}
	if next.Voters() < least {
		return rulef("Reconfig failed - new configuration must include at least %d participants", least)
	}
	for i := range next.Members {
		if len(next.Members[i].Addresses) > 1 && !q.MultiAddressEnabled {
			return rulef("Multiple address feature is disabled, but multiple addresses were specified for sid %d",
				next.Members[i].ID)
		}
	}
	return nil
}

// With returns q with the members, groups and version of another configuration.
func (q *Quorum) With(other *Quorum) *Quorum {
	c := *q
	c.Members, c.Groups, c.Hierarchical, c.ConfigVersion = other.Members, other.Groups, other.Hierarchical,
		other.ConfigVersion
	return &c
}

// Text returns the lines of the configuration, in the form in which a version of it is kept; the version is not
// among them.
func (q *Quorum) Text() string { return strings.Join(q.Lines(), "\n") }
