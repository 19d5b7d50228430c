package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Report is the result of Check.
type Report struct {
	// Config is nil if there are problems.
	Config *Config
	// Problems keep a server from starting, Warnings do not.
	Problems Problems
	Warnings Warnings
	// Differences are the places where ZooKeeper reads the same file differently.
	Differences Warnings
}

// Check reads a configuration as Load does, and also reports how ZooKeeper would read it. Warren's own.
func Check(path string, set, env []string) Report {
	var r Report
	l, err := open(path)
	if err != nil {
		errors.As(err, &r.Problems)
		return r
	}
	r.Config, r.Warnings, err = l.layOver(set, env)
	errors.As(err, &r.Problems)
	r.Differences = l.differences()
	return r
}

// differences compares the given settings with how ZooKeeper 3.9 reads them. Source: operations 1.1, 1.4, 1.5 and
// 12.
func (l *loader) differences() Warnings {
	var all Warnings
	add := func(a *assignment, text string) {
		all = append(all, Warning{File: a.pos.file, Line: a.pos.line, Key: a.written, Text: text})
	}
	settings := map[string]setting{}
	for _, s := range l.c.settings() {
		for _, key := range s.keys {
			settings[key] = s
		}
	}
	for _, a := range l.order {
		if l.given[a.source][a.key] != a {
			continue // replaced: there is a warning already
		}
		s, isSetting := settings[a.key]
		if isSetting {
			for _, text := range s.differences(a) {
				add(a, text)
			}
		} else if a.source == fromFile && !l.isFree(a.key) && !hasNoEffect(a.key) {
			add(a, "ZooKeeper sets the system property zookeeper."+a.key+" and says nothing")
		}
	}
	return append(all, l.derived()...)
}

// isFree reports whether key belongs to the ensemble or to a family.
func (l *loader) isFree(key string) bool {
	return isMemberKey(key) ||
		slices.ContainsFunc(l.c.families(), func(f family) bool { return strings.HasPrefix(key, f.prefix) })
}

// ours reports whether ZooKeeper does not have the key.
func ours(key string) bool {
	return strings.HasPrefix(key, "warren.") || key == "myid" || key == "audit.file"
}

// differences returns how ZooKeeper reads one assignment to s.
func (s setting) differences(a *assignment) (texts []string) {
	hasPrefix := a.written != a.key
	switch {
	case ours(a.key):
		return []string{"ZooKeeper does not know it"}
	case a.source != fromFile && s.kind == native && a.key != "observer.syncEnabled" &&
		!strings.HasPrefix(a.key, "multiAddress."):
		texts = append(texts, "ZooKeeper reads it from the file only")
	case a.source == fromFile && s.kind == native && hasPrefix:
		texts = append(texts, "ZooKeeper reads it without the prefix only, and uses the default")
	case a.source == fromFile && s.kind == bare && a.key != "fsync.warningthresholdms":
		texts = append(texts, "ZooKeeper reads it from -D"+a.key+" only, and uses the default")
	case s.kind == passthrough && a.key != s.name():
		texts = append(texts, "ZooKeeper's documentation has this name, its code reads "+s.name())
	}
	if s.kind == native &&
		(strings.HasPrefix(a.value, "0x") || strings.HasPrefix(a.value, "0X") || strings.HasPrefix(a.value, "#")) {
		if _, err := parseNumber(a.value); err == nil {
			texts = append(texts, "ZooKeeper reads decimal numbers only here, and does not start")
		}
	}
	if a.key == "autopurge.purgeInterval" && strings.Trim(a.value, "-0123456789") != "" {
		texts = append(texts, "ZooKeeper before 3.10 takes a number of hours only, and does not start")
	}
	return texts
}

// derived compares the settings that were not given, or that follow from several settings.
func (l *loader) derived() (all Warnings) {
	c := l.c
	if !c.Given("autopurge.purgeInterval") {
		all = append(all, Warning{Key: "autopurge.purgeInterval", Text: fmt.Sprintf(
			"is not set: ZooKeeper never purges, Warren keeps the newest %d snapshots", c.Autopurge.SnapRetainCount)})
	}
	if c.SecureClientPort != PortUnset &&
		!slices.ContainsFunc(l.order, func(a *assignment) bool { return a.key == "serverCnxnFactory" }) {
		all = append(all, Warning{Key: "secureClientPort", Text: "ZooKeeper needs serverCnxnFactory=" +
			"org.apache.zookeeper.server.NettyServerCnxnFactory as well, and does not start"})
	}
	return all
}
