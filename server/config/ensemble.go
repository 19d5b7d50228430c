package config

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
)

// readDynamicFile reads members from the dynamic file. Source: operations 1.6.
func (l *loader) readDynamicFile() {
	name := l.c.DynamicConfigFile
	text, err := readBounded(name)
	if err != nil {
		l.bad["members"] = true
		l.fileProblem(name, err)
		at := l.c.origins["dynamicConfigFile"]
		p := l.problems[len(l.problems)-1]
		p.Rule = p.Error()
		p.File, p.Line, p.Key = at.file, at.line, "dynamicConfigFile"
		return
	}
	l.c.ConfigVersion = dynamicVersion(name)
	entries, problems := parseProperties(text, name)
	l.problems = append(l.problems, problems...)
	last := map[string]int{}
	for i, e := range entries {
		last[e.key] = i
	}
	for i, e := range entries {
		pos := position{name, e.line}
		switch {
		case last[e.key] != i:
			l.warn(pos, e.key, fmt.Sprintf("is replaced by line %d", entries[last[e.key]].line))
		case e.key == "version":
			l.problem(pos, e.key, e.value, "dynamic file shouldn't have version inside")
		case !isMemberKey(e.key):
			l.problem(pos, e.key, e.value, "Unrecognised parameter: "+e.key+onlyMembers)
		default:
			l.addMember(pos, e.key, e.value)
		}
	}
}

// onlyMembers ends the message about a key that does not describe servers.
const onlyMembers = ": only server.N, group.N and weight.N belong here"

// dynamicVersion returns the number at the end of a dynamic file's name, zoo.cfg.dynamic.<hex>; 0 if there is none.
func dynamicVersion(name string) int64 {
	suffix := filepath.Ext(name)
	if suffix == "" {
		return 0
	}
	version, err := strconv.ParseInt(suffix[1:], 16, 64)
	if err != nil {
		return 0
	}
	return version
}

// readID finds the server id: the first line of myid, else what was set, else fallback. A standalone server has no
// use for it, so it starts whatever is there. Source: operations 1.2.
func (l *loader) readID(fallback string) {
	if l.c.DataDir == "" {
		return
	}
	name := filepath.Join(l.c.DataDir, "myid")
	text, err := readBounded(name)
	if errors.Is(err, fs.ErrNotExist) {
		if _, given := l.c.origins["myid"]; !given && fallback != "" {
			l.setID(position{file: l.idVariable}, trim(fallback))
		}
		return
	}
	if err != nil && !l.c.Distributed() {
		l.warn(position{file: name}, "", "cannot be read: "+reasonOf(err))
		return
	}
	if err != nil {
		l.bad["myid"] = true
		l.fileProblem(name, err)
		l.problems[len(l.problems)-1].Code = ExitDataDir
		return
	}
	if l.c.ServerID != NoServerID {
		l.warn(l.c.origins["myid"], "myid", "loses against the file "+name)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	l.setID(position{name, 1}, trim(first))
}

func (l *loader) setID(pos position, text string) {
	l.c.origins["myid"] = pos
	l.c.ServerID = NoServerID
	_, err := myID(&l.c.ServerID).parse(text)
	if err != nil && !l.c.Distributed() {
		l.c.ServerID = NoServerID
		l.warn(pos, "", fmt.Sprintf("%q is no id of a server, and has no effect on a standalone one", text))
		return
	}
	if err != nil {
		l.bad["myid"] = true
		l.problem(pos, "", "", err.Error())
	}
}

// adoptOwnLine takes role and client addresses from this server's line, which goes before the static file.
func (l *loader) adoptOwnLine() {
	own := l.c.Member(l.c.ServerID)
	if own == nil {
		return
	}
	c := l.c
	if pos, given := c.origins["peerType"]; given && c.PeerType != own.Role {
		l.warn(pos, "peerType",
			fmt.Sprintf("Peer type from servers list (%s) doesn't match peerType (%s). Defaulting to servers list.",
				strings.ToUpper(own.Role.String()), strings.ToUpper(c.PeerType.String())))
	}
	c.PeerType = own.Role
	l.adoptAddress("client address", "clientPort", &c.ClientPortAddress, &c.ClientPort, own.Client)
	l.adoptAddress("secure client address", "secureClientPort", &c.SecureClientPortAddress,
		&c.SecureClientPort, own.Secure)
}

// adoptAddress takes one client address from this server's line, unless the static file has another one.
func (l *loader) adoptAddress(what, key string, host *string, port *int, line HostPort) {
	if line.Port == PortUnset {
		return
	}
	static := HostPort{Host: *host, Port: *port}
	if *port != PortUnset && (*port != line.Port || !isAny(*host) && !mayBeSame(*host, line.Host)) {
		l.problem(l.c.origins[key], key, "", fmt.Sprintf(
			"%s for this server (id = %d) in static config file is %s is different from client address found "+
				"in dynamic file: %s",
			what, l.c.ServerID, static, line))
		return
	}
	*host, *port = line.Host, line.Port
}

// mayBeSame reports whether two hosts can have the same address. Of a name only its resolver knows; the one of the
// line counts then, as in ZooKeeper, which refuses what resolves to another address.
func mayBeSame(a, b string) bool {
	x, errA := netip.ParseAddr(a)
	y, errB := netip.ParseAddr(b)
	return a == b || b != "" && (errA != nil || errB != nil || x.Unmap() == y.Unmap())
}

// isAny reports whether host binds every address.
func isAny(host string) bool {
	if host == "" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsUnspecified()
}

// validateMembers checks the ensemble. Source: operations 1.3.
func (v *validation) validateMembers() {
	c := v.c
	voters, observers := c.Voters(), len(c.Members)-c.Voters()
	switch {
	case voters > votersMax:
		v.fail(fmt.Sprintf("%d servers vote, at most %d are supported: let others be observers", voters, votersMax),
			"members")
	case voters == 0 && !c.StandaloneEnabled:
		v.fail("standaloneEnabled = false then number of participants should be >0", "standaloneEnabled", "members")
	case voters == 0 && observers > 0:
		v.fail("Observers w/o participants is an invalid configuration: at least one line server.N "+
			"must not end with :observer", "members")
	case voters == 1 && c.StandaloneEnabled && observers > 0:
		v.fail("Observers w/o quorum is an invalid configuration: add a participant, or set "+
			"standaloneEnabled=false", "members")
	case voters == 1 && c.StandaloneEnabled:
		v.warn("Invalid configuration, only one server specified (ignoring)", "members")
	case voters == 1 || voters == 2:
		v.warn("No server failure will be tolerated. You need at least 3 servers.", "members")
	case voters > 2 && voters%2 == 0:
		v.warn("Non-optimal configuration, consider an odd number of servers.", "members")
	}
	for i := range c.Members {
		m := &c.Members[i]
		key := fmt.Sprintf("server.%d", m.ID)
		switch {
		case len(m.Addresses) == 0:
			v.fail("has no address", key)
		case len(m.Addresses) > 1 && !c.MultiAddressEnabled:
			v.fail(fmt.Sprintf(
				"Multiple address feature is disabled, but multiple addresses were specified for sid %d", m.ID), key,
				"multiAddress.enabled")
		}
		for _, a := range m.Addresses {
			v.failIf(a.ElectionPort == PortUnset, fmt.Sprintf("the election port is missing of server %d", m.ID), key)
		}
	}
	v.validateGroups()
	v.validateOwn()
}

// validateGroups checks that every voter is in exactly one group, if groups or weights are used.
func (v *validation) validateGroups() {
	if !v.c.Hierarchical {
		return
	}
	in := map[int64]bool{}
	for _, g := range v.c.Groups {
		key := fmt.Sprintf("group.%d", g.ID)
		for _, id := range g.Members {
			v.failIf(in[id], fmt.Sprintf("server %d is in more than one group", id), key)
			in[id] = true
			if v.c.Member(id) == nil {
				v.warn(fmt.Sprintf("server %d is not in the server list", id), key)
			}
		}
	}
	var weight int64
	for i := range v.c.Members {
		m := &v.c.Members[i]
		if m.Role != Participant {
			continue
		}
		weight += m.Weight
		v.failIf(!in[m.ID], fmt.Sprintf("server %d is in no group: add it to a line group.N", m.ID),
			fmt.Sprintf("server.%d", m.ID), "members")
	}
	v.failIf(v.c.Voters() > 0 && weight == 0, "every participant has weight 0, so there is no quorum", "members")
}

// validateOwn checks the settings that a member of an ensemble needs, once all files were read.
func (v *validation) validateOwn() {
	c := v.c
	if !c.Distributed() {
		return
	}
	v.failIf(c.InitLimit == 0,
		"initLimit is not set: it says how many ticks a follower may take to synchronize, as in initLimit=10",
		"initLimit")
	v.failIf(c.SyncLimit == 0,
		"syncLimit is not set: it says how many ticks a follower may be silent, as in syncLimit=5", "syncLimit")
	if !v.complete {
		return
	}
	switch {
	case c.ServerID == NoServerID:
		v.fail(filepath.Join(c.DataDir, "myid")+" file is missing: write the number of this server into "+
			"it, the N of its line server.N", "myid", "dataDir")
	case c.Member(c.ServerID) == nil:
		v.fail(fmt.Sprintf("id %d is not in the peer list: add a line server.%d, or correct the number "+
			"in myid", c.ServerID, c.ServerID), "myid", "members")
	case c.ExtendedTypes && c.ServerID > math.MaxUint8-1:
		v.fail(fmt.Sprintf("server id %d must not be above 254 with extendedTypesEnabled", c.ServerID),
			"myid")
	}
}
