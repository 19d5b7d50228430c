package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seed94657493/warren/wal/vfs"
)

// ErrGivenElsewhere is returned by WriteMembers if members come from the environment or the command line, which a
// file cannot change.
var ErrGivenElsewhere = errors.New("config: server lines are given by the environment or the command line")

// WriteMembers writes a configuration of the ensemble into the files: the dynamic file with its version in the
// name, beside the static one, and the static file, whose last line names it. Other settings and comments stay.
// The server lines are removed, and the lines of the client port if the server line of this server has it. A
// static file that named no dynamic file is kept unchanged with the suffix .bak. At any time each file is
// complete under its name. It returns the name of the dynamic file. Source: operations 1.6.
//
// A Config without File has no files, and nothing is done. It may be called by one goroutine at a time.
func (c *Config) WriteMembers(q *Quorum) (dynamic string, err error) {
	if c.File == "" {
		return "", nil
	}
	for key, pos := range c.origins {
		if isMemberKey(key) && pos.file != c.File && pos.file != c.DynamicConfigFile {
			return "", fmt.Errorf("%w: %s", ErrGivenElsewhere, pos)
		}
	}
	static, err := filepath.Abs(c.File)
	if err != nil {
		return "", fmt.Errorf("config: %w", err)
	}
	old, err := readBounded(static)
	if err != nil {
		return "", fmt.Errorf("config: %w", err)
	}
	dynamic = static + ".dynamic." + strconv.FormatInt(q.ConfigVersion, 16)
	text, hadDynamic := withoutMembers(string(old), c.movedKeys(q),
		"dynamicConfigFile="+filepath.ToSlash(dynamic)+"\n")
	lines := q.Lines()
	slices.Sort(lines)
	if !hadDynamic {
		if err := replaceFile(static+".bak", string(old), static, 0o644); err != nil {
			return "", fmt.Errorf("config: %w", err)
		}
	}
	from := cmp.Or(c.DynamicConfigFile, static)
	if err := replaceFile(dynamic, strings.Join(lines, "\n"), from, 0o644); err != nil {
		return "", fmt.Errorf("config: %w", err)
	}
	if text != string(old) {
		if err := replaceFile(static, text, static, 0o644); err != nil {
			return "", fmt.Errorf("config: %w", err)
		}
	}
	if err := os.Remove(static + ".dynamic.next"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return dynamic, fmt.Errorf("config: %w", err)
	}
	return dynamic, nil
}

// movedKeys returns the settings that the server line of this server replaces, or that become wrong when the line
// changes.
func (c *Config) movedKeys(q *Quorum) (keys []string) {
	if own := q.Member(c.ServerID); own != nil {
		if own.Client.Port != PortUnset {
			keys = append(keys, "clientPort", "clientPortAddress")
		}
		if own.Secure.Port != PortUnset {
			keys = append(keys, "secureClientPort", "secureClientPortAddress")
		}
	}
	return keys
}

// withoutMembers returns a static file without the lines of members and the given keys, and with a last line that
// names the dynamic file. hadDynamic says that it named one before.
func withoutMembers(text string, keys []string, last string) (edited string, hadDynamic bool) {
	var b strings.Builder
	lines := lineReader{rest: strings.TrimPrefix(text, "\ufeff")}
	for lines.rest != "" {
		before := lines.rest
		one := lineReader{rest: before}
		logical, _, ok := one.nextOrBlank()
		lines.rest = one.rest
		if ok {
			written, _ := splitProperty(logical)
			key, _ := unescape(written) // a file with a malformed escape has not been loaded
			key = strings.TrimPrefix(trim(key), "zookeeper.")
			if key == "dynamicConfigFile" {
				hadDynamic = true
				continue
			}
			if isMemberKey(key) || key == "peerType" || slices.Contains(keys, key) {
				continue
			}
		}
		b.WriteString(before[:len(before)-len(one.rest)])
	}
	edited = b.String()
	if edited != "" && !strings.HasSuffix(edited, "\n") {
		edited += "\n"
	}
	if strings.HasSuffix(strings.TrimRight(edited, "\r\n"), `\`) {
		edited += "\n" // an empty line, with which a continued one ends
	}
	return edited + last, hadDynamic
}

// nextOrBlank takes one logical line, or one natural line that is blank or a comment; then ok is false.
func (r *lineReader) nextOrBlank() (logical string, first int, ok bool) {
	peek := *r
	natural := strings.TrimLeft(peek.natural(), " \t\f")
	if natural == "" || natural[0] == '#' || natural[0] == '!' {
		*r = peek
		return "", r.line, false
	}
	return r.next()
}

// replaceFile writes a file through a temporary file, and makes it durable. It gets the mode and the owner of the file
// that it replaces, or else of the one from which its content comes, or else the given mode: it is not to be read by
// more users.
func replaceFile(name, text, from string, mode fs.FileMode) error {
	model := name
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		model = from
	}
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after the rename, as intended
	if err = f.Chmod(mode); err == nil && model != "" {
		err = vfs.Like(vfs.OS(), f.Name(), model)
	}
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	return vfs.OS().SyncDir(dir)
}
