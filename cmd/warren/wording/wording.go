package wording

import (
	"regexp"
	"strconv"
	"strings"
)

// Text returns the text of err for an operator. Errors of the network, of files and of numbers in it, which Go or the
// operating system has worded, are replaced by plain words. Each names its subject, an address, a file or a URL,
// unless the text before it on its line does.
func Text(err error) string { return About("", err) }

// Final is Text for an error that ends a command, with Advice.
func Final(err error) string {
	text := Text(err)
	if do := Advice(err); do != "" {
		text += "; " + do
	}
	return text
}

// About is Text for a place where the reader sees the subject already, such as a column of a table.
func About(subject string, err error) string {
	text := err.Error()
	for _, f := range faultsIn(err) {
		before, after, found := strings.Cut(text, f.raw)
		if !found {
			continue // an error that has not kept the text of its cause
		}
		if step := clientStep.FindStringSubmatch(before); step != nil {
			before, f.subject = strings.TrimSuffix(before, step[0]), step[1]
			if f.raw == "EOF" {
				f.words = ClosedEarly
			}
		}
		line := subject + "\n" + before[strings.LastIndexByte(before, '\n')+1:]
		if f.subject != "" && !names(line, f.subject) && !names(line, f.host) {
			before += f.subject + ": "
		}
		text = before + f.words + after
	}
	text = packages.ReplaceAllString(text, "$1")
	text = noSnapshot.ReplaceAllString(text, "it does not begin as a snapshot does, but with $1")
	if rest, ok := strings.CutPrefix(text, strconv.Quote(subject)+" "); ok {
		return rest
	}
	if rest, ok := strings.CutPrefix(text, subject); ok && subject != "" && strings.HasPrefix(rest, ": ") {
		return rest[len(": "):]
	} else if ok && subject != "" && strings.HasPrefix(rest, " is ") {
		return rest[len(" "):]
	}
	return text
}

// clientStep ends the text before the error of a step of a client, and has the server of that step.
var clientStep = regexp.MustCompile(`(?:^|\bclient: |\bbench: )(?:dial|greet|resolve|session at) (\S+): $`)

// packages are the names that packages of ours put before their errors.
var packages = regexp.MustCompile(`(^|\n|: |, since )(?:(?:backup|bench|client|config|datadir|datatree|doctor|` +
	`kerberos|keystore|meta|peers|proto|recovery|s3|sasl|server|shell|smoketest|snapshot|vfs|wal|` +
	`net/http|http|tls|x509): )+`)

// noSnapshot is what package snapshot says of a file that is something else.
var noSnapshot = regexp.MustCompile(`magic is (0x[0-9a-f]+), not 0x[0-9a-f]+`)

// names reports whether a text has a name as a word of its own.
func names(text, name string) bool {
	if name == "" {
		return false
	}
	more := "-_" // besides letters and digits, what a name goes on with
	if strings.Contains(name, "/") {
		more += "/."
	}
	goesOn := func(c byte) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte(more, c) >= 0
	}
	for from := 0; ; from++ {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		from += i
		end := from + len(name)
		if (from == 0 || !goesOn(text[from-1])) && (end == len(text) || !goesOn(text[end])) {
			return true
		}
	}
}
