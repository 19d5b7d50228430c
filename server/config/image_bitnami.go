package config

import (
	"cmp"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// bitnamiChoice are the variables of which one must be yes before Bitnami's image starts. So each environment that
// works with that image has one of them, and no environment of the official image has any.
var bitnamiChoice = []string{"ALLOW_ANONYMOUS_LOGIN", "ALLOW_EMPTY_PASSWORD", "ZOO_ENABLE_AUTH"}

// The folders of Bitnami's image. Variables do not change them.
const (
	bitnamiData = "/bitnami/zookeeper/data"
	bitnamiConf = "/opt/bitnami/zookeeper/conf"
)

// bitnamiLine is a key of zoo.cfg that Bitnami's image sets, the variable that has its value, and the value without
// that variable. A line without a value is left out.
type bitnamiLine struct {
	key, variable, value string
	isSwitch             bool // the variable is yes or no, the key is true or false
	isStore              bool // the variable names a key store or trust store
}

// bitnamiBasics are the lines of each file, in the order of the image.
var bitnamiBasics = []bitnamiLine{
	{key: "tickTime", variable: "ZOO_TICK_TIME", value: "2000"},
	{key: "initLimit", variable: "ZOO_INIT_LIMIT", value: "10"},
	{key: "syncLimit", variable: "ZOO_SYNC_LIMIT", value: "5"},
	{key: "preAllocSize", variable: "ZOO_PRE_ALLOC_SIZE", value: "65536"},
	{key: "snapCount", variable: "ZOO_SNAPCOUNT", value: "100000"},
	{key: "dataLogDir", variable: "ZOO_DATA_LOG_DIR"},
	{key: "clientPort", variable: "ZOO_PORT_NUMBER", value: "2181"},
	{key: "maxCnxns", variable: "ZOO_MAX_CNXNS", value: "0"},
	{key: "maxClientCnxns", variable: "ZOO_MAX_CLIENT_CNXNS", value: "60"},
	{key: "reconfigEnabled", variable: "ZOO_RECONFIG_ENABLED", value: "no", isSwitch: true},
	{key: "quorumListenOnAllIPs", variable: "ZOO_LISTEN_ALLIPS_ENABLED", value: "no", isSwitch: true},
	{key: "autopurge.purgeInterval", variable: "ZOO_AUTOPURGE_INTERVAL", value: "0"},
	{key: "autopurge.snapRetainCount", variable: "ZOO_AUTOPURGE_RETAIN_COUNT", value: "3"},
	{key: "4lw.commands.whitelist", variable: "ZOO_4LW_COMMANDS_WHITELIST", value: "srvr, mntr"},
	{key: "maxSessionTimeout", variable: "ZOO_MAX_SESSION_TIMEOUT", value: "40000"},
	{key: "admin.serverAddress", variable: "ZOO_ADMIN_SERVER_ADDRESS", value: "127.0.0.1"},
	{key: "admin.serverPort", variable: "ZOO_ADMIN_SERVER_PORT_NUMBER", value: "8080"},
	{key: "admin.enableServer", variable: "ZOO_ENABLE_ADMIN_SERVER", value: "no", isSwitch: true},
	{key: "peerType", variable: "ZOO_PEER_TYPE"},
	{key: "fips-mode", variable: "ZOO_FIPS_MODE", isSwitch: true},
}

// bitnamiClientTLS and bitnamiQuorumTLS are the lines with ZOO_TLS_CLIENT_ENABLE and ZOO_TLS_QUORUM_ENABLE.
var (
	bitnamiClientTLS = append([]bitnamiLine{{key: "secureClientPort", variable: "ZOO_TLS_PORT_NUMBER", value: "3181"}},
		bitnamiTLS("ssl.", "ZOO_TLS_CLIENT_", "ZOO_TLS_CLIENT_AUTH")...)
	bitnamiQuorumTLS = bitnamiTLS("ssl.quorum.", "ZOO_TLS_QUORUM_", "ZOO_TLS_QUORUM_CLIENT_AUTH")
)

func bitnamiTLS(prefix, variable, auth string) []bitnamiLine {
	lines := []bitnamiLine{{key: prefix + "clientAuth", variable: auth, value: "need"}}
	for key, name := range map[string]string{"keyStore": "KEYSTORE", "trustStore": "TRUSTSTORE"} {
		lines = append(lines,
			bitnamiLine{key: prefix + key + ".location", variable: variable + name + "_FILE", isStore: true},
			bitnamiLine{key: prefix + key + ".type", variable: variable + name + "_TYPE"},
			bitnamiLine{key: prefix + key + ".password", variable: variable + name + "_PASSWORD"})
	}
	slices.SortStableFunc(lines, func(x, y bitnamiLine) int { return cmp.Compare(x.key, y.key) })
	return lines
}

// bitnamiOthers are variables of Bitnami's image that are no line of zoo.cfg by themselves.
var bitnamiOthers = []string{
	"ZOO_SERVER_ID", "ZOO_SERVERS", "ZOO_CLIENT_USER", "ZOO_CLIENT_PASSWORD", "ZOO_SERVER_USERS",
	"ZOO_SERVER_PASSWORDS", "ZOO_ENABLE_QUORUM_AUTH", "ZOO_QUORUM_LEARNER_USER", "ZOO_QUORUM_LEARNER_PASSWORD",
	"ZOO_QUORUM_SERVER_USERS", "ZOO_QUORUM_SERVER_PASSWORDS", "ZOO_ENABLE_PROMETHEUS_METRICS",
	"ZOO_PROMETHEUS_METRICS_PORT_NUMBER", "ZOO_TLS_CLIENT_ENABLE", "ZOO_TLS_QUORUM_ENABLE", "ZOO_LOG_LEVEL",
	"JVMFLAGS", "ZOO_HEAP_SIZE", "ZOO_HC_TIMEOUT",
}

// superPassword is Warren's own: the password of the super user of the scheme digest. The super user may reconfigure.
// The chart stores a password in a secret, and zoo.cfg takes its digest.
const superPassword = "WARREN_SUPER_PASSWORD"

// minServerID is Warren's own: the id of the first pod of a StatefulSet. The id of each other pod is greater by the
// number at the end of its name, POD_NAME or HOSTNAME.
const minServerID = "WARREN_MIN_SERVER_ID"

// bitnamiImage reads one environment.
type bitnamiImage struct {
	env   []string
	stat  func(name string) (fs.FileInfo, error)
	image Image
	file  strings.Builder
}

// newBitnamiImage returns the image that env describes, with its folders below root.
func newBitnamiImage(env []string, root string) Image {
	b := &bitnamiImage{env: env, stat: os.Stat}
	data, conf := filepath.Join(root, bitnamiData), filepath.Join(root, bitnamiConf)
	b.image = Image{
		File: filepath.Join(conf, "zoo.cfg"), LoginFile: filepath.Join(conf, "zoo_jaas.conf"),
		MyIDFile: filepath.Join(data, "myid"), IDVariable: "ZOO_SERVER_ID", private: true,
	}
	b.readFiles()
	b.image.MyID = b.serverID()
	b.checkChoice()
	b.line("dataDir", data)
	b.lines(bitnamiBasics)
	b.line("electionPortBindRetry", "0")
	b.servers()
	if b.yes("ZOO_TLS_CLIENT_ENABLE") {
		b.lines(bitnamiClientTLS)
	}
	if b.yes("ZOO_TLS_QUORUM_ENABLE") {
		b.line("sslQuorum", "true")
		b.lines(bitnamiQuorumTLS)
	}
	b.freeKeys()
	b.authentication()
	b.metrics()
	b.super()
	b.image.Text = b.file.String()
	return b.image
}

// isBitnami reports whether the variables of env are to be read as Bitnami's image does.
func isBitnami(env []string) bool {
	return slices.ContainsFunc(bitnamiChoice, func(name string) bool {
		return envValue(env, name) != "" || envValue(env, name+"_FILE") != ""
	})
}

// bitnamiNames are the variables of Bitnami's image, without those of ZOO_CFG_.
func bitnamiNames() []string {
	names := slices.Concat(bitnamiChoice, bitnamiOthers)
	for _, l := range slices.Concat(bitnamiBasics, bitnamiClientTLS, bitnamiQuorumTLS) {
		names = append(names, l.variable)
	}
	return names
}

func (b *bitnamiImage) problem(variable, text string) {
	b.image.problems = append(b.image.problems, &Problem{File: variable, Rule: text, Code: ExitInvalid})
}

func (b *bitnamiImage) warn(variable, text string) {
	b.image.warnings = append(b.image.warnings, Warning{File: variable, Text: text})
}

// value returns a variable, or what stands for it.
func (b *bitnamiImage) value(name, otherwise string) string {
	return cmp.Or(envValue(b.env, name), otherwise)
}

// yes reports whether a variable is 1, yes or true, in any case.
func (b *bitnamiImage) yes(name string) bool { return isYes(b.value(name, "")) }

func isYes(text string) bool {
	return slices.Contains([]string{"1", "yes", "true"}, strings.ToLower(text))
}

// readFiles puts the content of the file that NAME_FILE names in the place of NAME. A file that cannot be read is a
// problem: the image goes on without, which may be without a password.
func (b *bitnamiImage) readFiles() {
	b.env = slices.Clone(b.env)
	for _, name := range append(bitnamiNames(), superPassword) {
		file := envValue(b.env, name+"_FILE")
		if file == "" {
			continue
		}
		text, err := readSecret(file)
		if err != nil && name == superPassword { // a release that did not have it yet
			b.warn(name+"_FILE", "there is no super user: "+err.Error())
			continue
		}
		if err != nil {
			b.problem(name+"_FILE", "the file cannot be read: "+err.Error())
			continue
		}
		b.env = append(b.env, name+"="+text)
	}
}

// serverID is that of the variable, or that of the pod, or 1.
func (b *bitnamiImage) serverID() string {
	if id := b.value("ZOO_SERVER_ID", ""); id != "" {
		return id
	}
	least := b.value(minServerID, "")
	if least == "" {
		return "1"
	}
	pod := b.value("POD_NAME", b.value("HOSTNAME", ""))
	first, err := strconv.ParseUint(least, 10, 31)
	ordinal, err2 := strconv.ParseUint(pod[strings.LastIndexByte(pod, '-')+1:], 10, 31)
	if err != nil || err2 != nil {
		b.problem(minServerID,
			fmt.Sprintf("%q is no number, or the name %q of the pod does not end in one", least, pod))
		return ""
	}
	return strconv.FormatUint(first+ordinal, 10)
}

// checkChoice refuses a server that would be open to all clients by mistake, and variables of two images, of which
// one would not count.
func (b *bitnamiImage) checkChoice() {
	if !slices.ContainsFunc(bitnamiChoice, b.yes) {
		b.problem(bitnamiChoice[0],
			"clients are not authenticated: set it to yes if any client may connect, or ZOO_ENABLE_AUTH=yes")
	}
	if id := b.value("ZOO_MY_ID", ""); id != "" && id != b.image.MyID {
		b.problem("ZOO_MY_ID",
			fmt.Sprintf("is the id in the official image, and ZOO_SERVER_ID=%s that in Bitnami's, which %s chooses",
				b.image.MyID, b.chosenBy()))
	}
	for _, name := range officialAlone {
		if b.value(name, "") != "" {
			b.warn(name, "is a variable of the official image, and has no effect in Bitnami's, which "+
				b.chosenBy()+" chooses")
		}
	}
	if text := envValue(b.env, "ZOO_FIPS_MODE"); isYes(text) &&
		(b.yes("ZOO_ENABLE_AUTH") || b.yes("ZOO_ENABLE_QUORUM_AUTH")) {
		b.problem("ZOO_FIPS_MODE",
			"excludes DIGEST-MD5, by which ZOO_ENABLE_AUTH and ZOO_ENABLE_QUORUM_AUTH authenticate: set it to no")
	}
}

// chosenBy is the variable that chose this image.
func (b *bitnamiImage) chosenBy() string {
	return bitnamiChoice[slices.IndexFunc(bitnamiChoice, func(name string) bool {
		return b.value(name, "") != "" || b.value(name+"_FILE", "") != ""
	})]
}

// line adds a line to zoo.cfg. The value is escaped, so that a password keeps its backslashes, and a line end begins
// no other line.
func (b *bitnamiImage) line(key, value string) {
	value = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(value)
	fmt.Fprintf(&b.file, "%s=%s\n", key, value)
}

func (b *bitnamiImage) lines(all []bitnamiLine) {
	for _, l := range all {
		value := b.value(l.variable, l.value)
		switch {
		case value == "", l.key == "clientPort" && b.yes("ZOO_TLS_CLIENT_ENABLE"):
			continue
		case l.isSwitch:
			value = strconv.FormatBool(isYes(value))
		case l.isStore:
			value = b.store(value)
		}
		b.line(l.key, value)
	}
}

// store returns the file of a key store, or its folder, if the file does not exist, and the folder has the files of a
// secret of type kubernetes.io/tls. Bitnami's chart makes the file out of these with keytool before the server
// starts.
func (b *bitnamiImage) store(name string) string {
	if _, err := b.stat(name); err == nil {
		return name
	}
	folder := filepath.Dir(name) + string(filepath.Separator)
	for _, part := range []string{"tls.crt", "tls.key", "ca.crt"} {
		if _, err := b.stat(folder + part); err != nil {
			return name
		}
	}
	return folder
}

var (
	bitnamiServer   = regexp.MustCompile(`^[^\s=]+:\d+:\d+(:observer|:participant)?$`)
	bitnamiNumbered = regexp.MustCompile(`^([^\s=]+:\d+:\d+(?::observer|:participant)?)::(\d+)$`)
)

// servers adds the server lines of ZOO_SERVERS. One server alone has none: the image runs it standalone. Warren's
// own: with ZOO_RECONFIG_ENABLED it has a line, so that with standaloneEnabled=false it is an ensemble that other
// servers can join.
func (b *bitnamiImage) servers() {
	text := b.value("ZOO_SERVERS", "")
	words := bitnamiWords(text)
	withIDs := slices.ContainsFunc(words, bitnamiNumbered.MatchString) // not any "::", which IPv6 addresses have
	var lines [][2]string
	for i, word := range words {
		id := strconv.Itoa(i + 1)
		switch m := bitnamiNumbered.FindStringSubmatch(word); {
		case withIDs && m != nil:
			word, id = m[1], m[2]
		case withIDs || !bitnamiServer.MatchString(word):
			b.problem("ZOO_SERVERS",
				fmt.Sprintf("%q has neither the form host:port:port nor, like all others, host:port:port::id", word))
			return
		}
		if slices.ContainsFunc(lines, func(l [2]string) bool { return l[0] == "server."+id }) {
			b.problem("ZOO_SERVERS", "two servers have the id "+id)
		}
		lines = append(lines, [2]string{"server." + id, word + ";" + b.value("ZOO_PORT_NUMBER", "2181")})
	}
	if len(lines) == 1 && !b.yes("ZOO_RECONFIG_ENABLED") {
		return
	}
	for _, l := range lines {
		b.line(l[0], l[1])
	}
}

// bitnamiWords splits a list at commas, semicolons and blanks.
func bitnamiWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";, \t\r\n", r) })
}

// freeKeys adds a line for each variable ZOO_CFG_KEY. An underscore stands for a dot.
func (b *bitnamiImage) freeKeys() {
	env := slices.Clone(b.env)
	slices.Sort(env)
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if key, found := strings.CutPrefix(name, "ZOO_CFG_"); found && key != "" && name != "ZOO_CFG_EXTRA" {
			b.line(strings.ReplaceAll(key, "_", "."), value)
		}
	}
}

// authentication adds the lines and the JAAS file of ZOO_ENABLE_AUTH and ZOO_ENABLE_QUORUM_AUTH.
func (b *bitnamiImage) authentication() {
	var jaas strings.Builder
	if b.yes("ZOO_ENABLE_AUTH") {
		b.line("authProvider.1", "org.apache.zookeeper.server.auth.SASLAuthenticationProvider")
		b.line("sessionRequireClientSASLAuth", "true")
		if user, password := b.value("ZOO_CLIENT_USER", ""), b.value("ZOO_CLIENT_PASSWORD", ""); user != "" {
			b.image.ClientUser, b.image.ClientPassword = user, Secret(password)
			jaasSection(&jaas, "Client", [][2]string{{"username", user}, {"password", password}})
		}
		jaasSection(&jaas, "Server", b.users("ZOO_SERVER_USERS", "ZOO_SERVER_PASSWORDS"))
	}
	if b.yes("ZOO_ENABLE_QUORUM_AUTH") {
		b.line("quorum.auth.enableSasl", "true")
		b.line("quorum.auth.learnerRequireSasl", "true")
		b.line("quorum.auth.serverRequireSasl", "true")
		b.line("quorum.auth.learner.saslLoginContext", "QuorumLearner")
		b.line("quorum.auth.server.saslLoginContext", "QuorumServer")
		user, password := b.value("ZOO_QUORUM_LEARNER_USER", ""), b.value("ZOO_QUORUM_LEARNER_PASSWORD", "")
		if user == "" || password == "" {
			b.problem("ZOO_QUORUM_LEARNER_USER", "ZOO_ENABLE_QUORUM_AUTH=yes needs it and ZOO_QUORUM_LEARNER_PASSWORD")
		}
		jaasSection(&jaas, "QuorumLearner", [][2]string{{"username", user}, {"password", password}})
		jaasSection(&jaas, "QuorumServer", b.users("ZOO_QUORUM_SERVER_USERS", "ZOO_QUORUM_SERVER_PASSWORDS"))
	}
	if jaas.Len() == 0 {
		b.image.LoginFile = ""
		return
	}
	b.image.Login = jaas.String()
	b.line("java.security.auth.login.config", b.image.LoginFile)
}

// users pairs a list of names with a list of passwords. Nothing authenticates against an empty list, so that is a
// problem too.
func (b *bitnamiImage) users(names, passwords string) (options [][2]string) {
	users, secrets := bitnamiWords(b.value(names, "")), bitnamiWords(b.value(passwords, ""))
	switch {
	case len(users) != len(secrets):
		b.problem(names, fmt.Sprintf("has %d names, and %s has %d passwords", len(users), passwords, len(secrets)))
		return nil
	case len(users) == 0:
		b.problem(names, "is empty, so that no client or server could authenticate")
	}
	for i := range users {
		options = append(options, [2]string{"user_" + users[i], secrets[i]})
	}
	return options
}

// jaasWord is a text that a JAAS file may have without quotes.
var jaasWord = regexp.MustCompile(`^[A-Za-z0-9_$*.-]+$`)

// jaasSection appends a section of a JAAS file.
func jaasSection(b *strings.Builder, name string, options [][2]string) {
	fmt.Fprintf(b, "%s {\n    org.apache.zookeeper.server.auth.DigestLoginModule required", name)
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`)
	for _, o := range options {
		key := o[0]
		if !jaasWord.MatchString(key) {
			key = `"` + quote.Replace(key) + `"`
		}
		fmt.Fprintf(b, "\n    %s=\"%s\"", key, quote.Replace(o[1]))
	}
	b.WriteString(";\n};\n")
}

// metrics adds the lines of ZOO_ENABLE_PROMETHEUS_METRICS.
func (b *bitnamiImage) metrics() {
	if b.yes("ZOO_ENABLE_PROMETHEUS_METRICS") {
		b.line("metricsProvider.className", "org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider")
		b.line("metricsProvider.httpPort", b.value("ZOO_PROMETHEUS_METRICS_PORT_NUMBER", "7000"))
		b.line("metricsProvider.exportJvmInfo", "true")
	}
}

// super adds the digest of the user super.
func (b *bitnamiImage) super() {
	if password := b.value(superPassword, ""); password != "" {
		sum := sha1.Sum([]byte("super:" + password))
		b.line("DigestAuthenticationProvider.superDigest", "super:"+base64.StdEncoding.EncodeToString(sum[:]))
	}
}
