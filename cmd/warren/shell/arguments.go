package shell

import (
	"slices"
	"strings"

	"github.com/seed94657493/warren/internal/znodetext"
)

// completeArgument returns what a word of a command can become, which is neither the command nor a path. Before are
// the words before it.
func completeArgument(before []string, word string) []string {
	if len(before) == 0 {
		return nil
	}
	c := find(before[0])
	if c == nil {
		return nil
	}
	var all []string
	last := before[len(before)-1]
	takesValue := c.flags.flags()[strings.TrimPrefix(last, "-")] && strings.HasPrefix(last, "-")
	switch {
	case takesValue:
		all = flagValues[c.name+" "+last]
	case strings.HasPrefix(word, "-"):
		for name := range c.flags.flags() {
			if flag := "-" + name; name != "?" && !slices.Contains(before, flag) {
				all = append(all, flag+" ")
			}
		}
		slices.Sort(all)
	default:
		// The words that are no flags, of which the one that is typed is the next one. What is typed so far need not
		// make sense: then nothing is known.
		a, err := c.flags.parse(before[1:])
		if err != nil {
			return nil
		}
		switch at := len(a.words); {
		case c.name == "setAcl" && at == 1, c.name == "create" && at == 2:
			return completeACL(word)
		case c.name == "addauth" && at == 0:
			all = []string{"digest ", "ip ", "sasl ", "x509 "}
		case c.name == "printwatches" && at == 0:
			all = []string{"off ", "on "}
		case c.name == "help" && at == 0:
			all = commandNames()
		}
	}
	return withPrefix(all, word)
}

// flagValues are the values of those flags that have few.
var flagValues = map[string][]string{
	"addWatch -m": {"PERSISTENT ", "PERSISTENT_RECURSIVE "},
	"find -k":     {znodetext.Ephemeral + " ", znodetext.Persistent + " "},
}

// aclForms are the beginnings of entries of an ACL, as far as they are the same for each user.
var aclForms = []string{"auth::", "digest:", "ip:", "sasl:", "world:anyone:", "x509:"}

// completeACL completes the last entry of an ACL: the scheme, and behind the id the permissions.
func completeACL(word string) []string {
	begin := strings.LastIndexByte(word, ',') + 1
	done, entry := word[:begin], word[begin:]
	var all []string
	if last := strings.LastIndexByte(entry, ':'); last > strings.IndexByte(entry, ':') {
		for _, letter := range znodetext.Letters {
			if !strings.ContainsRune(entry[last+1:], letter) {
				all = append(all, word+string(letter))
			}
		}
		return all
	}
	for _, form := range withPrefix(aclForms, entry) {
		all = append(all, done+form)
	}
	return all
}

func withPrefix(all []string, prefix string) (some []string) {
	for _, text := range all {
		if strings.HasPrefix(text, prefix) {
			some = append(some, text)
		}
	}
	return some
}
