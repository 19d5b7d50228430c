package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// envPrefix begins the name of every variable that holds a setting.
const envPrefix = "WARREN_"

// EnvName returns the environment variable that holds the setting key: WARREN_ and the key in capitals, with an
// underscore for every dot and dash and before every word that begins with a capital. snapCount is
// WARREN_SNAP_COUNT, ssl.keyStore.location is WARREN_SSL_KEY_STORE_LOCATION, server.1 is WARREN_SERVER_1, and
// warren.logLevel is WARREN_LOG_LEVEL. Warren's own.
func EnvName(key string) string {
	var b strings.Builder
	b.WriteString(envPrefix)
	rs := []rune(strings.TrimPrefix(key, "warren."))
	for i, r := range rs {
		switch {
		case r == '.' || r == '-':
			b.WriteByte('_')
			continue
		case i > 0 && unicode.IsUpper(r):
			before := rs[i-1]
			// The s of IPs.
			endsWord := unicode.IsUpper(before) && i+1 < len(rs) && unicode.IsLower(rs[i+1]) && string(rs[i+1:]) != "s"
			if unicode.IsLower(before) || unicode.IsDigit(before) || endsWord {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}

// commandVariables are WARREN_ variables that belong to the commands and are no settings.
var commandVariables = []string{"WARREN_MYID_FROM_HOSTNAME", minServerID, superPassword, superPassword + "_FILE"}

// envValue returns the value of name in env, "" if it is not there.
func envValue(env []string, name string) string {
	value := ""
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}

// readEnvironment takes the settings of the environment.
func (l *loader) readEnvironment(env []string) {
	l.readJavaFlags(env)
	if envValue(env, "ZOO_DATADIR_AUTOCREATE_DISABLE") != "" { // zkServer.sh turns it into a flag
		l.assign(fromJava, "datadir.autocreate", "false", position{file: "ZOO_DATADIR_AUTOCREATE_DISABLE"})
	}
	l.readLogLevel(env)
	l.readVariables(env)
}

// readJavaFlags takes the -D tokens of the variables that zkServer.sh hands to Java; later tokens win, as there.
func (l *loader) readJavaFlags(env []string) {
	for _, name := range []string{"SERVER_JVMFLAGS", "JVMFLAGS"} {
		for _, token := range strings.Fields(envValue(env, name)) {
			if d, ok := strings.CutPrefix(token, "-D"); ok && d != "" {
				key, value, _ := strings.Cut(d, "=")
				l.assign(fromJava, trim(key), trim(value), position{file: name})
			} else {
				l.withoutEffect = append(l.withoutEffect, token)
			}
		}
	}
}

// log4jLevels maps Java's log levels to Warren's.
var log4jLevels = map[string]string{
	"ALL": "debug", "TRACE": "debug", "DEBUG": "debug", "INFO": "info", "WARN": "warn", "ERROR": "error",
	"FATAL": "error", "OFF": "error",
}

// readLogLevel takes the level of ZOO_LOG_LEVEL or ZOO_LOG4J_PROP, "INFO,CONSOLE". Source: operations 7.2.
func (l *loader) readLogLevel(env []string) {
	for _, name := range []string{"ZOO_LOG4J_PROP", "ZOO_LOG_LEVEL"} {
		text := envValue(env, name)
		if text == "" {
			continue
		}
		word, _, _ := strings.Cut(text, ",")
		if level, ok := log4jLevels[strings.ToUpper(trim(word))]; ok {
			l.assign(fromJava, "warren.logLevel", level, position{file: name})
		} else {
			l.warn(position{file: name}, "", fmt.Sprintf("%q is no level of log4j and has no effect", word))
		}
	}
}

// readVariables takes the WARREN_ variables.
func (l *loader) readVariables(env []string) {
	keys := map[string]string{}
	for _, s := range l.c.settings() {
		for _, key := range s.keys {
			keys[EnvName(key)] = key
		}
	}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, envPrefix) || isServiceLink(name, value) {
			continue
		}
		key, known := keys[name]
		if !known {
			key, known = l.freeKey(name)
		}
		switch {
		case known:
			l.assign(fromEnvironment, key, trim(value), position{file: name})
		case !slices.Contains(commandVariables, name): // it may be one of another program, if it is like none of ours
			if like := nearest(name, slices.Sorted(maps.Keys(keys))); like != "" {
				l.warn(position{file: name}, "", "is no setting and has no effect; did you mean "+like+"?")
			}
		}
	}
}

// serviceLinks are the endings of the variables that Kubernetes and Docker set for a service named warren.
var serviceLinks = []string{"_SERVICE_HOST", "_SERVICE_PORT", "_TCP_ADDR", "_TCP_PORT", "_TCP_PROTO", "_UDP_ADDR",
	"_UDP_PORT", "_UDP_PROTO"}

// isServiceLink reports whether Kubernetes or Docker has made the variable because a service is named warren, or
// warren-client: WARREN_SERVICE_HOST, WARREN_PORT_2181_TCP_ADDR, and WARREN_CLIENT_PORT=tcp://10.0.0.1:2181,
// which is no client port.
func isServiceLink(name, value string) bool {
	return strings.HasPrefix(value, "tcp://") || strings.HasPrefix(value, "udp://") ||
		slices.ContainsFunc(serviceLinks, func(part string) bool { return strings.Contains(name, part) })
}

// freeKey returns the key of a variable whose key has a free part: WARREN_SERVER_1 is server.1.
func (l *loader) freeKey(name string) (string, bool) {
	for _, prefix := range []string{"server.", "group.", "weight."} {
		if id, ok := strings.CutPrefix(name, EnvName(prefix)); ok && id != "" && strings.Trim(id, "0123456789") == "" {
			return prefix + id, true
		}
	}
	for _, f := range l.c.families() {
		if rest, ok := strings.CutPrefix(name, EnvName(f.prefix)); ok {
			return f.prefix + strings.ReplaceAll(strings.ToLower(rest), "_", "."), true
		}
	}
	return "", false
}
