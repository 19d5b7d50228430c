// Package config turns zoo.cfg, command line settings and the environment into one checked Config.
//
// The file is a Java Properties file, and its keys, defaults, units, rules and exit codes are those of
// ZooKeeper 3.9 with the additions of 3.10 that do not conflict (see docs/COMPATIBILITY.md for what
// differs on purpose). Every problem found is reported, not only the first, and each names file, line,
// key, value and the rule that it breaks.
//
// # Where a setting comes from
//
// From the highest precedence to the lowest: the command line (-D key=value), the environment (WARREN_ and the
// key in capitals, see EnvName), the variables that ZooKeeper's scripts read (-Dkey=value tokens of JVMFLAGS and
// SERVER_JVMFLAGS, the level in ZOO_LOG4J_PROP), the file, the default. One exception is ZooKeeper's own: for a
// key that ZooKeeper passes through as a system property, a line of the file goes before all of them; a warning
// names both. Every key may be written with and without the "zookeeper." prefix, except in the names of
// variables.
//
// The variables ZOO_SERVERS, ZOO_DATA_DIR and so on of the official container image and of Bitnami's are not
// settings: as in those images, they make the file, if there is none. See Image.
//
// # What the keys are bound to
//
// The settings table (settings_*.go) binds every key to the one Config field that it sets, with its
// bounds. The fields of Config are documented where they are declared; the areas Storage, Sessions, Clients,
// Limits, Quorum and Security are embedded, so that cfg.DataDir and cfg.Storage.DataDir are the same.
//
// # Ownership
//
// A Config is built once and then only read; readers need no lock. The package holds no state and starts no
// goroutine. It reads only the files that its caller names: the static file, the dynamic file that it names, and
// myid. It writes only the files of Image and WriteMembers.
package config

//go:generate go test . -run ^TestReference$ -update
