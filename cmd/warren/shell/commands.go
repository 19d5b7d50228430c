package shell

import (
	"context"
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
	wordsMax     int  // -1 for any number: zkCli.sh ignores words that it does not need
	needsSession bool // refused after close
	talks        bool // waits for a connection
	isOwn        bool // not one of zkCli.sh
	run          func(ctx context.Context, s *Shell, a *arguments) error
}

func (c *command) usageLine() string { return c.name + " " + c.usage }

// commands returns all commands, in the order in which zkCli.sh lists its own; ours follow.
func commands() []*command {
	const (
		addWatchUsage = "[-m mode] path # optional mode is one of [PERSISTENT, PERSISTENT_RECURSIVE] - default is " +
			"PERSISTENT_RECURSIVE"
		reconfigUsage = "[-s] [-v version] [[-file path] | [-members serverID=host:port1:port2;port3[,...]*]] | " +
			"[-add serverId=host:port1:port2;port3[,...]]* [-remove serverId[,...]*]"
	)
	local := func(name, usage, about string, run func(context.Context, *Shell, *arguments) error) *command {
		return &command{name: name, usage: usage, about: about, wordsMax: -1, run: run}
	}
	remote := func(name, usage, about string, flags flagSet, wordsMin int,
		run func(context.Context, *Shell, *arguments) error) *command {
		return &command{name: name, usage: usage, about: about, flags: flags, wordsMin: wordsMin, wordsMax: -1,
			needsSession: true, talks: true, run: run}
	}
	own := func(c *command) *command {
		c.isOwn = true
		return c
	}
	version := local("version", "", "print the version of this program", runVersion)
	version.wordsMax, version.needsSession = 0, true
	watch := remote("watch", "[-d] [-c count] path",
		"show every change in a subtree until interrupted; -d shows data, too",
		"dc:", 1, runFollow)
	watch.talks = false // not the way that others do
	closing := local("close", "", "close the session", runClose)
	closing.needsSession = true
	return []*command{
		remote("addWatch", addWatchUsage, "watch a znode, or a subtree, until removewatches", "m:", 1, runAddWatch),
		remote("addauth", "scheme auth", "add an identity to the session", "", 1, runAddAuth),
		closing,
		remote("config", "[-c] [-w] [-s]", "show the configuration of the ensemble", "cws", 0, runConfig),
		local("connect", "host:port", "open a new session", runConnect),
		remote("create", "[-s] [-e] [-c] [-t ttl] path [data] [acl]",
			"create a znode; -p creates missing parents, too", "psect:", 1, runCreate),
		remote("delete", "[-v version] path", "delete a znode without children", "v:", 1, runDelete),
		remote("deleteall", "path [-b batch size]", "delete a znode and everything below it", "b:", 1, runDeleteAll),
		remote("delquota", "[-n|-b|-N|-B] path", "remove a quota, or one of its limits", "nbNB", 1, runDelQuota),
		remote("get", "[-s] [-w] [-b] [-x] path", "show the data of a znode", "swbx", 1, runGet),
		remote("getAcl", "[-s] path", "show the ACL of a znode: who may do what with it", "s", 1, runGetACL),
		remote("getAllChildrenNumber", "path", "count the znodes below a znode", "", 1, runCountChildren),
		remote("getEphemerals", "path", "list the ephemerals of this session", "", 0, runGetEphemerals),
		local("history", "", "list the last commands, with the numbers for redo", runHistory),
		remote("listquota", "path", "show the quota of a znode, and how much of it is used",
			"", 1, runListQuota),
		remote("ls", "[-s] [-w] [-R] path", "list the children of a znode", "?swR", 1, runList),
		local("printwatches", "on|off",
			"turn the printing of watch events on or off; without a word, say which", runPrintWatches),
		local("quit", "", "end the shell", runQuit),
		remote("reconfig", reconfigUsage, "change the servers of the ensemble", "sv:[file]:[members]:[add]:[remove]:",
			0, runReconfig),
		local("redo", "cmdno", "run a command of the history again, by its number", runRedo),
		remote("removewatches", "path [-c|-d|-a] [-l]", "remove watches of this session from a znode",
			"cdaprl", 1, runRemoveWatches),
		remote("set", "path data [-s] [-v version] [-b]", "change the data of a znode", "sv:b", 2, runSet),
		remote("setAcl", "[-s] [-v version] [-R] path acl", "change the ACL of a znode: who may do what with it",
			"sv:R", 2, runSetACL),
		remote("setquota", "-n|-b|-N|-B val path",
			"limit the znodes or bytes of a subtree; -N and -B are enforced",
			"n:b:N:B:", 0, runSetQuota),
		remote("stat", "[-w] path", "show the Stat of a znode", "w", 1, runStat),
		remote("sync", "path", "wait until this server has every write acknowledged so far", "", 1, runSync),
		version,
		remote("whoami", "", "show the identities of this session", "", 0, runWhoAmI),

		own(remote("export", "[-a] path [file]", "write a subtree as JSON, to a file or standard output",
			"a", 1, runExport)),
		own(remote("find", "[-n glob] [-g regexp] [-k kind] path",
			"find znodes in a subtree by name, data or kind", "n:g:k:", 1, runFind)),
		own(local("help", "[command]", "list the commands, or explain one", runHelp)),
		own(remote("import", "[-a] [-l] [-n] [-o] file [path]",
			"create the znodes of an export; -n checks only, -o overwrites",
			"alno", 1, runImport)),
		own(remote("tree", "[-s] [-d depth] path", "draw a subtree", "sd:", 0, runTree)),
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

// Names returns the names of all commands, sorted.
func Names() []string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
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
