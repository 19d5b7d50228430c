package config

import "slices"

// serverSettings are the settings that say where the servers of an ensemble are.
var serverSettings = []string{"clientPort", "clientPortAddress", "secureClientPort", "secureClientPortAddress",
	"dynamicConfigFile", "admin.serverPort"}

// LoadServers reads the server lines, the client ports and the admin port of the static file at path, and of the
// dynamic file that it names, and nothing else: no myid, no key store, no directory. So it works for a command on a
// machine that is none of the ensemble, with the rights to read these two files. An error is Problems.
func LoadServers(path string) (*Config, error) {
	l, err := open(path)
	if err != nil {
		return nil, err
	}
	l.applyOnly(serverSettings...)
	l.dynamic = l.c.DynamicConfigFile != ""
	for _, a := range l.order {
		if isMemberKey(a.key) && a == l.given[fromFile][a.key] {
			l.applyMember(a)
		}
	}
	if l.dynamic {
		l.readDynamicFile()
	}
	if err := l.problems.err(); err != nil {
		return nil, err
	}
	return l.c, nil
}

// LoadDataDir reads dataDir of the static file at path, whatever is wrong with the rest of it. An error is Problems.
func LoadDataDir(path string) (*Config, error) {
	l, err := open(path)
	if err != nil {
		return nil, err
	}
	l.applyOnly("dataDir")
	if l.c.DataDir == "" {
		l.problem(position{file: path}, "", "", "dataDir is not set")
		return nil, l.problems
	}
	return l.c, nil
}

// applyOnly applies the assignments of these settings.
func (l *loader) applyOnly(names ...string) {
	for _, s := range l.c.settings() {
		if slices.Contains(names, s.name()) {
			l.applySetting(s)
		}
	}
}
