package shell

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/server/config"
)

// Setting is one of those by which a Java client is told of TLS and SASL.
type Setting struct {
	Key, Value string
	By         string // the place in a file, or the variable of the environment, that has it
}

// ReadSettings reads a file of zkCli.sh's -client-configuration, which has the form of Java's Properties.
func ReadSettings(file string) (all []Setting, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, wording.File("--client-configuration", file, err)
	}
	err = config.EachProperty(text, file, func(line int, key, value string) error {
		all = append(all, Setting{key, value, fmt.Sprintf("%s:%d", file, line)})
		return nil
	})
	isOne := func(s Setting) bool { return strings.Contains(s.Key, ".") }
	if err == nil && len(all) > 0 && !slices.ContainsFunc(all, isOne) {
		err = errors.New("it has no setting of a client, such as zookeeper.client.secure")
	}
	return all, wording.File("--client-configuration", file, err)
}

// setting returns the last one with a key, which counts; the zero Setting without any.
func setting(all []Setting, key string) Setting {
	for _, s := range slices.Backward(all) {
		if s.Key == key {
			return s
		}
	}
	return Setting{}
}

// by is what names a file that is the value.
func (s Setting) by() string { return s.By + ": " + s.Key }

// wrong is an error about the setting.
func (s Setting) wrong(text string) error { return wording.File(s.By+":", s.Key, errors.New(text)) }
