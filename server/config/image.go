package config

import (
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
	{"autopurge.snapRetainCount", "ZOO_AUTOPURGE_SNAPRETAINCOUNT"}, {"autopurge.purgeInterval", "ZOO_AUTOPURGE_PURGEINTERVAL"},
	{"maxClientCnxns", "ZOO_MAX_CLIENT_CNXNS"}, {"standaloneEnabled", "ZOO_STANDALONE_ENABLED"},
	{"admin.enableServer", "ZOO_ADMINSERVER_ENABLED"},
}

// Image is the environment of the official container image. The entry point of that image makes zoo.cfg and myid
// from it before it starts the server. The zero value is no image. Source: operations 11.1.
type Image struct {
	// File is the path of zoo.cfg, existing or not: ZOO_CONF_DIR/zoo.cfg. Empty if there is no image.
	File string
	// Text is the content that the entry point writes there, if there is no file.
	Text string
	// MyIDFile is the path of the file myid, and MyID its content if there is no file.
	MyIDFile, MyID string
}

// NewImage reads the image's variables in env. There is an image if any of imageDefaults is set; ZOO_MY_ID alone
// is not enough, since it also counts without one.
func NewImage(env []string) Image {
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
	for _, server := range strings.Fields(values["ZOO_SERVERS"]) {
		b.WriteString(server + "\n")
	}
	if words := values["ZOO_4LW_COMMANDS_WHITELIST"]; words != "" {
		fmt.Fprintf(&b, "4lw.commands.whitelist=%s\n", words)
	}
	for _, entry := range strings.Fields(values["ZOO_CFG_EXTRA"]) {
		b.WriteString(entry + "\n")
	}
	id := envValue(env, "ZOO_MY_ID")
	if id == "" {
		id = "1"
	}
	return Image{
		File: filepath.Join(values["ZOO_CONF_DIR"], "zoo.cfg"), Text: b.String(),
		MyIDFile: filepath.Join(values["ZOO_DATA_DIR"], "myid"), MyID: id,
	}
}

// Write writes zoo.cfg and myid where they are missing, as the entry point does, and returns the names of those
// it wrote. Existing files are never touched. Warren's own: missing directories are made, and a file is complete
// under its name.
func (i Image) Write() (written []string, err error) {
	for _, f := range []struct{ name, text string }{{i.File, i.Text}, {i.MyIDFile, i.MyID + "\n"}} {
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
		if err := replaceFile(f.name, f.text); err != nil {
			return written, fmt.Errorf("config: %w", err)
		}
		written = append(written, f.name)
	}
	return written, nil
}

// Load writes the missing files, and loads the configuration as Load does. On a read-only file system the text
// counts as if it had been written, with a warning.
func (i Image) Load(set, env []string) (*Config, Warnings, error) {
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
	if failed != nil {
		l.warn(position{file: i.File}, "", "the variables of the image count, but could not be written: "+failed.Error())
	}
	l.readEnvironment(env)
	l.readCommandLine(set)
	return l.finish(i.MyID, true)
}
