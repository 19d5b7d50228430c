package shell

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

// command is one command of the shell.
type command struct {
	name         string
	usage        string // what follows the name, as zkCli.sh prints it
	about        string // a sentence for help
	flags        flagSet
	wordsMin     int  // fewer words are answered with the usage
	wordsMax     int  // more are refused, but as zkCli.sh, which ignores them
	refusesMore  bool // zkCli.sh refuses them too
	needsSession bool // refused after close
	talks        bool // waits for a connection
	isOwn        bool // not one of zkCli.sh
	run          func(ctx context.Context, s *Shell, a *arguments) error
}

func (c *command) usageLine() string { return c.name + " " + c.usage }

// quoteHint says what to do about words that are too many.
func (c *command) quoteHint() string {
	if c.name == "create" || c.name == "set" {
		return "put quotes around data with blanks, as in " + c.name + " /app 'two words'"
	}
	return "put quotes around an argument with blanks; usage: " + c.usageLine()
}

// wordsHint says what is wrong with a number of words: which one is missing, or that there are too many.
func (c *command) wordsHint(words int) string {
	if words >= c.wordsMin {
		return c.name + " takes no more arguments"
	}
	usage, _, _ := strings.Cut(c.usage, "#")
	for _, word := range strings.Fields(optional.ReplaceAllString(usage, "")) {
		if words == 0 {
			return "the " + word + " is missing"
		}
		words--
	}
	return ""
}

// optional is what may be left out of a usage.
var optional = regexp.MustCompile(`\[[^\]]*\]`)

// commands returns all commands, in the order in which zkCli.sh lists its own; ours follow.
func commands() []*command {
	const (
		addWatchUsage = "[-m mode] path # optional mode is one of [PERSISTENT, PERSISTENT_RECURSIVE] - default is " +
			"PERSISTENT_RECURSIVE"
		reconfigUsage = "[-s] [-v version] [[-file path] | [-members serverID=host:port1:port2;port3[,...]*]] | " +
			"[-add serverId=host:port1:port2;port3[,...]]* [-remove serverId[,...]*]"
	)
	local := func(name, usage, about string, wordsMax int,
		run func(context.Context, *Shell, *arguments) error) *command {
		return &command{name: name, usage: usage, about: about, wordsMax: wordsMax, run: run}
	}
	remote := func(name, usage, about string, flags flagSet, wordsMin, wordsMax int,
		run func(context.Context, *Shell, *arguments) error) *command {
		return &command{name: name, usage: usage, about: about, flags: flags, wordsMin: wordsMin, wordsMax: wordsMax,
			needsSession: true, talks: true, run: run}
	}
	own := func(c *command) *command {
		c.isOwn = true
		return c
	}
	version := local("version", "", "print the version of this program", 0, runVersion)
	version.refusesMore, version.needsSession = true, true
	watch := remote("watch", "[-d] [-c count] path",
		"show every change in a subtree until interrupted; -d shows data, too",
		"d c:", 1, 1, runFollow)
	watch.talks = false // not the way that others do
	closing := local("close", "", "close the session", 0, runClose)
	closing.needsSession = true
	return []*command{
		remote("addWatch", addWatchUsage, "watch a znode, or a subtree, until removewatches", "m:", 1, 1, runAddWatch),
		remote("addauth", "scheme auth", "add an identity to the session", "", 1, 2, runAddAuth),
		closing,
		remote("config", "[-c] [-w] [-s]", "show the configuration of the ensemble", "c w s", 0, 0, runConfig),
		local("connect", "host:port", "open a new session", 1, runConnect),
		remote("create", "[-s] [-e] [-c] [-t ttl] path [data] [acl]",
			"create a znode; -p creates missing parents, too", "p s e c t:", 1, 3, runCreate),
		remote("delete", "[-v version] path", "delete a znode without children", "v:", 1, 2, runDelete),
		remote("deleteall", "path [-b batch size]", "delete a znode and everything below it", "b:", 1, 1,
			runDeleteAll),
		remote("delquota", "[-n|-b|-N|-B] path", "remove a quota, or one of its limits", "n b N B", 1, 1, runDelQuota),
		remote("get", "[-s] [-w] [-b] [-x] path", "show the data of a znode", "s w b x", 1, 2, runGet),
		remote("getAcl", "[-s] path", "show the ACL of a znode: who may do what with it", "s", 1, 1, runGetACL),
		remote("getAllChildrenNumber", "path", "count the znodes below a znode", "", 1, 1, runCountChildren),
		remote("getEphemerals", "path", "list the ephemerals of this session", "", 0, 1, runGetEphemerals),
		local("history", "", "list the last commands, with the numbers for redo", 0, runHistory),
		remote("listquota", "path", "show the quota of a znode, and how much of it is used",
			"", 1, 1, runListQuota),
		remote("ls", "[-s] [-w] [-R] path", "list the children of a znode", "? s w R", 1, 2, runList),
		local("printwatches", "on|off",
			"turn the printing of watch events on or off; without a word, say which", 1, runPrintWatches),
		local("quit", "", "end the shell", 0, runQuit),
		remote("reconfig", reconfigUsage, "change the servers of the ensemble", "s v: file: members: add: remove:",
			0, 0, runReconfig),
		local("redo", "cmdno", "run a command of the history again, by its number", 1, runRedo),
		remote("removewatches", "path [-c|-d|-a] [-l]", "remove watches of this session from a znode",
			"c d a p r l", 1, 1, runRemoveWatches),
		remote("set", "path data [-s] [-v version] [-b]", "change the data of a znode", "s v: b", 2, 2, runSet),
		remote("setAcl", "[-s] [-v version] [-R] path acl", "change the ACL of a znode: who may do what with it",
			"s v: R", 2, 2, runSetACL),
		remote("setquota", "-n|-b|-N|-B val path",
			"limit the znodes or bytes of a subtree; -N and -B are enforced",
			"n: b: N: B:", 0, 1, runSetQuota),
		remote("stat", "[-w] path", "show the Stat of a znode", "w", 1, 2, runStat),
		remote("sync", "path", "wait until this server has every write acknowledged so far", "", 1, 1, runSync),
		version,
		remote("whoami", "", "show the identities of this session", "", 0, 0, runWhoAmI),

		own(remote("export", "[-a] path [file]", "write a subtree as JSON, to a file or standard output",
			"a", 1, 2, runExport)),
		own(remote("find", "[-n glob] [-g regexp] [-k kind] path",
			"find znodes in a subtree by name, data or kind", "n: g: k:", 1, 1, runFind)),
		own(local("help", "[command]", "list the commands, or explain one", 1, runHelp)),
		own(remote("import", "[-a] [-l] [-n] [-o] file [path]",
			"create the znodes of an export; -n checks only, -o overwrites",
			"a l n o", 1, 2, runImport)),
		own(remote("tree", "[-s] [-d depth] path", "draw a subtree", "s d:", 0, 1, runTree)),
		own(watch),
	}
}

// find returns the command with a name or an alias, or nil.
func find(name string) *command {
	switch name {
	case "exit":
		name = "quit"
	case "?":
		name = "help"
	}
	all := commands()
	if i := slices.IndexFunc(all, func(c *command) bool { return c.name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// commandNames returns the names of all commands, sorted, each with the blank that follows it.
func commandNames() []string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name+" ")
	}
	slices.Sort(names)
	return names
}

// usageList is zkCli.sh's answer to an unknown command. Ours are listed after its own.
func usageList() string {
	var b strings.Builder
	b.WriteString("ZooKeeper -server host:port -client-configuration properties-file cmd args\n")
	for _, c := range commands() {
		b.WriteString("\t" + c.usageLine() + "\n")
	}
	return b.String()
}
