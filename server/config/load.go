package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Load reads the static file at path and the files that it names, and applies the settings of the command line
// and of the environment over it. With an empty path it starts from the embedded defaults of Default.
//
// set holds key=value strings, as given with -D. env is the environment as os.Environ returns it. Of env these
// variables count: those of EnvName, the -D tokens of SERVER_JVMFLAGS and JVMFLAGS, the log level of
// ZOO_LOG4J_PROP, and ZOO_MY_ID if there is no myid file. On an error, which is always Problems, the Config is
// nil, but the warnings are not. Source: operations 1.1.
func Load(path string, set, env []string) (*Config, Warnings, error) {
	l, err := open(path)
	if err != nil {
		return nil, nil, err
	}
	return l.layOver(set, env)
}

// open returns a loader that has read the static file at path, or starts from the embedded defaults without one.
func open(path string) (*loader, error) {
	if path == "" {
		return newLoader(embedded()), nil
	}
	l := newLoader(base())
	text, err := readBounded(path)
	if err != nil {
		l.fileProblem(path, err)
		return nil, l.problems
	}
	l.readFile(text, path)
	return l, nil
}

// layOver applies environment and command line, and finishes.
func (l *loader) layOver(set, env []string) (*Config, Warnings, error) {
	l.readEnvironment(env)
	l.readCommandLine(set)
	return l.finish(envValue(env, "ZOO_MY_ID"), true)
}

// LoadArguments is Load for the positional form of the command, clientPort dataDir [tickTime [maxClientCnxns]],
// which replaces a file: the server is standalone, and listens on every address. Source: operations 1.2.
func LoadArguments(args, set, env []string) (*Config, Warnings, error) {
	names := []string{"clientPort", "dataDir", "tickTime", "maxClientCnxns"}
	l := newLoader(base())
	if len(args) < 2 || len(args) > len(names) {
		l.problem(position{}, "", "", "arguments are a client port, a data directory, and perhaps a tick time and a "+
			"limit of connections")
		return nil, nil, l.problems.err()
	}
	for i, arg := range args {
		l.assign(fromFile, names[i], trim(arg), position{file: "argument " + fmt.Sprint(i+1)})
	}
	return l.layOver(set, env)
}

// Parse reads a static file from r and checks it. It opens no file: members in a dynamic file and the server id
// in myid stay unknown, and the rules that need them are left out. The name is for messages.
func Parse(r io.Reader, name string) (*Config, Warnings, error) {
	l := newLoader(base())
	text, err := readAll(r)
	if err != nil {
		l.fileProblem(name, err)
		return nil, nil, l.problems.err()
	}
	l.readFile(text, name)
	return l.finish("", false)
}

var errTooLarge = fmt.Errorf("file is larger than %d bytes", fileBytesMax)

// readBounded reads a whole file of at most fileBytesMax.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

// readAll reads at most fileBytesMax bytes.
func readAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, fileBytesMax+1))
	if err == nil && len(text) > fileBytesMax {
		err = errTooLarge
	}
	return text, err
}

// relativeWarning returns ZooKeeper's warning for a relative path in a file that does not begin with a dot, or "".
// Relative paths that are typed need none: those who type them know the folder that they are in.
func relativeWarning(path string) string {
	if path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, ".") {
		return ""
	}
	return path + " is relative. Prepend ./ to indicate that you're sure!"
}

func (l *loader) readFile(text []byte, name string) {
	l.c.File, l.c.Text = name, text
	entries, problems := parseProperties(text, name)
	l.problems = append(l.problems, problems...)
	for _, e := range entries {
		l.assign(fromFile, e.key, e.value, position{name, e.line})
		if strings.Contains(e.value, " #") || strings.Contains(e.value, "\t#") {
			l.warn(position{name, e.line}, e.key, "there are no comments behind a value: the # is a part of it")
		}
	}
}

func (l *loader) readCommandLine(set []string) {
	for _, s := range set {
		key, value, _ := strings.Cut(s, "=")
		if key = trim(key); key == "" {
			l.problem(position{file: "-D"}, s, "", "does not have the form key=value")
			continue
		}
		l.assign(fromCommandLine, key, trim(value), position{file: "-D"})
	}
}

// reasonOf is why a file cannot be read, without its path.
func reasonOf(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}

// fileProblem reports a file that cannot be read.
func (l *loader) fileProblem(path string, err error) {
	rule := "file cannot be read: " + reasonOf(err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		rule = path + " file is missing"
	case errors.Is(err, errTooLarge):
		rule = err.Error()
	}
	l.problem(position{file: path}, "", "", rule)
}
