package config

import (
	"fmt"
	"slices"
	"strings"
)

// fourLetterWords is every word that a whitelist can name. "telnet close" is ZooKeeper's name for telnet's
// interrupt. Source: operations 2.1.
var fourLetterWords = strings.Fields("conf cons crst dirs dump envi gtmk hash isro mntr ruok srst srvr stat " +
	"stmk wchc wchp wchs fact held task")

const telnetClose = "telnet close"

// whitelist reads 4lw.commands.whitelist. An unknown word allows nothing and gets a warning: the intended word
// stays forbidden.
func whitelist(field *[]string) parser {
	return parserOf(field, []string{"srvr"}, func(text string) (allowed []string, warning string, err error) {
		allowed = listed(text)
		strange := slices.DeleteFunc(slices.Clone(allowed), func(word string) bool {
			return word == "*" || word == telnetClose || slices.Contains(fourLetterWords, word)
		})
		if len(strange) > 0 {
			warning = fmt.Sprintf("%s: no four-letter words, and without effect; there are %s",
				strings.Join(strange, ", "), strings.Join(fourLetterWords, " "))
		}
		return allowed, warning, nil
	}, nil)
}
