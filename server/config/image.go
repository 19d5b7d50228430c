package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// imageDefaults are the variables of the official container image, with the values that its Dockerfile and its
// entry point use for those that are not set. Source: operations 11.1.
var imageDefaults = map[string]string{
	"ZOO_CONF_DIR": "/conf", "ZOO_DATA_DIR": "/data", "ZOO_DATA_LOG_DIR": "/datalog",
	"ZOO_TICK_TIME": "2000", "ZOO_INIT_LIMIT": "5", "ZOO_SYNC_LIMIT": "2",
	"ZOO_AUTOPURGE_SNAPRETAINCOUNT": "3", "ZOO_AUTOPURGE_PURGEINTERVAL": "1",
	"ZOO_MAX_CLIENT_CNXNS": "60", "ZOO_STANDALONE_ENABLED": "true", "ZOO_ADMINSERVER_ENABLED": "true",
	"ZOO_SERVERS": "server.1=localhost:2888:3888;2181", "ZOO_4LW_COMMANDS_WHITELIST": "", "ZOO_CFG_EXTRA": "",
}

// imageLines are the keys that the entry point writes, in its order, and the variables they come from.
var imageLines = [][2]string{
	{"dataDir", "ZOO_DATA_DIR"}, {"dataLogDir", "ZOO_DATA_LOG_DIR"},
	{"tickTime", "ZOO_TICK_TIME"}, {"initLimit", "ZOO_INIT_LIMIT"}, {"syncLimit", "ZOO_SYNC_LIMIT"},
	{"autopurge.snapRetainCount", "ZOO_AUTOPURGE_SNAPRETAINCOUNT"},
	{"autopurge.purgeInterval", "ZOO_AUTOPURGE_PURGEINTERVAL"}, {"maxClientCnxns", "ZOO_MAX_CLIENT_CNXNS"},
	{"standaloneEnabled", "ZOO_STANDALONE_ENABLED"}, {"admin.enableServer", "ZOO_ADMINSERVER_ENABLED"},
}

// Image is the environment of a container image of ZooKeeper. The entry point of that image makes zoo.cfg and myid
// from it before it starts the server. The zero value is no image. Source: operations 11.1, and for Bitnami's image
// the scripts of bitnami/zookeeper 3.9.
type Image struct {
	// File is the path of zoo.cfg, existing or not. Empty if there is no image.
	File string
	// Text is the content that the entry point writes there, if there is no file.
	Text string
	// LoginFile is the path of the JAAS file, and Login its content if there is no file; both empty without one.
	LoginFile, Login string
	// MyIDFile is the path of the file myid, and MyID its content if there is no file.
	MyIDFile, MyID string
	// IDVariable is the variable that has MyID.
	IDVariable string
	// ClientUser and ClientPassword are those by which clients of this image authenticate, if it has any.
	ClientUser     string
	ClientPassword Secret
	private        bool // the files have passwords
	problems       Problems
	warnings       Warnings
}

// officialAlone are variables that only the official image has. Those of its folders are not among them: they are set
// in the image, not by an operator.
var officialAlone = []string{
	"ZOO_AUTOPURGE_SNAPRETAINCOUNT", "ZOO_AUTOPURGE_PURGEINTERVAL", "ZOO_STANDALONE_ENABLED",
	"ZOO_ADMINSERVER_ENABLED", "ZOO_CFG_EXTRA",
}

// NewImage reads the image's variables in env, and the files that variables of Bitnami's image name.
//
// The two images share names of variables, such as ZOO_SERVERS. If one of bitnamiChoice is set, they are those of
// Bitnami's image. Otherwise they are those of the official image, if any of imageDefaults is set; ZOO_MY_ID alone is
// not enough, since it also counts without an image.
func NewImage(env []string) Image {
	if isBitnami(env) {
		return newBitnamiImage(env, "/")
	}
	return newOfficialImage(env)
}

// SuperPassword returns the password of the super user of the scheme digest, for a command that is a client: that of
// WARREN_SUPER_PASSWORD, or of the file that WARREN_SUPER_PASSWORD_FILE names; empty without either.
func SuperPassword(env []string) (Secret, error) {
	if file := envValue(env, superPassword+"_FILE"); file != "" {
		text, err := readSecret(file)
		if err != nil {
			return "", fmt.Errorf("%s_FILE: %w", superPassword, err)
		}
		return Secret(text), nil
	}
	return Secret(envValue(env, superPassword)), nil
}

// readSecret reads a file with one value, without the end of its line.
func readSecret(file string) (string, error) {
	text, err := readBounded(file)
	return strings.TrimRight(string(text), "\r\n"), err
}

func newOfficialImage(env []string) Image {
	set := false
	values := map[string]string{}
	for name, value := range imageDefaults {
		values[name] = value
		if given := envValue(env, name); given != "" {
			values[name], set = given, true
		}
	}
	if !set {
		return Image{}
	}
	var b strings.Builder
	for _, line := range imageLines {
		fmt.Fprintf(&b, "%s=%s\n", line[0], values[line[1]])
	}
	var problems Problems
	for _, server := range strings.Fields(values["ZOO_SERVERS"]) {
		b.WriteString(server + "\n")
		if !strings.Contains(server, "=") { // as a line of zoo.cfg it would have no effect, and the server be alone
			problems = append(problems,
				&Problem{File: "ZOO_SERVERS", Rule: fmt.Sprintf("%q has not the form server.N=host:port:port;port. "+
					"In the form of Bitnami's image it needs ALLOW_ANONYMOUS_LOGIN or ZOO_ENABLE_AUTH", server),
					Code: ExitInvalid})
		}
	}
	if envValue(env, "ZOO_SERVER_ID") != "" {
		problems = append(problems,
			&Problem{File: "ZOO_SERVER_ID", Rule: "is the id in Bitnami's image, which needs ALLOW_ANONYMOUS_LOGIN " +
				"or ZOO_ENABLE_AUTH. In the official image it is ZOO_MY_ID", Code: ExitInvalid})
	}
	if words := values["ZOO_4LW_COMMANDS_WHITELIST"]; words != "" {
		fmt.Fprintf(&b, "4lw.commands.whitelist=%s\n", words)
	}
	for _, entry := range strings.Fields(values["ZOO_CFG_EXTRA"]) {
		b.WriteString(entry + "\n")
	}
	return Image{
		File: filepath.Join(values["ZOO_CONF_DIR"], "zoo.cfg"), Text: b.String(),
		MyIDFile: filepath.Join(values["ZOO_DATA_DIR"], "myid"), MyID: cmp.Or(envValue(env, "ZOO_MY_ID"), "1"),
		IDVariable: "ZOO_MY_ID", problems: problems,
	}
}

// Err returns what is wrong with the variables, a Problems, or nil.
func (i Image) Err() error { return i.problems.err() }

// Write writes the files that are missing, as the entry point does, and returns the names of those it wrote. Existing
// files are never touched. Warren's own: missing directories are made, and a file is complete under its name.
func (i Image) Write() (written []string, err error) {
	mode := fs.FileMode(0o644)
	if i.private {
		mode = 0o600
	}
	for _, f := range []struct {
		name, text string
		mode       fs.FileMode
	}{{i.LoginFile, i.Login, 0o400}, {i.File, i.Text, mode}, {i.MyIDFile, i.MyID + "\n", 0o644}} {
		if f.name == "" {
			continue
		}
		_, err := os.Stat(f.name)
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return written, fmt.Errorf("config: %w", err)
		}
		if err := os.MkdirAll(filepath.Dir(f.name), 0o755); err != nil {
			return written, fmt.Errorf("config: %w", err)
		}
		if err := replaceFile(f.name, f.text, "", f.mode); err != nil {
			return written, fmt.Errorf("config: %w", err)
		}
		written = append(written, f.name)
	}
	return written, nil
}

// Load writes the missing files, and loads the configuration as Load does. On a read-only file system the text
// counts as if it had been written, with a warning; a JAAS file must be written.
func (i Image) Load(set, env []string) (*Config, Warnings, error) {
	if err := i.problems.err(); err != nil {
		return nil, i.warnings, err
	}
	_, failed := i.Write()
	l, err := open(i.File)
	if err != nil && failed != nil {
		l = newLoader(base())
		l.readFile([]byte(i.Text), i.File)
		err = nil
	}
	if err != nil {
		return nil, nil, err
	}
	l.warnings = append(l.warnings, i.warnings...)
	if failed != nil {
		l.warn(position{file: i.File}, "",
			"the variables of the image count, but could not be written: "+failed.Error())
	}
	l.readEnvironment(env)
	l.readCommandLine(set)
	l.idVariable = i.IDVariable
	c, warnings, err := l.finish(i.MyID, true)
	if c != nil && i.Login != "" && c.SASL.LoginConfig == "" {
		warnings = append(warnings,
			Warning{File: i.File, Text: "this file was there before, and names no JAAS file: " +
				"the variables for users and passwords have no effect, and clients or servers are not authenticated"})
	}
	return c, warnings, err
}
