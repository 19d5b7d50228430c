package shell

import (
	"context"
	"strings"
)

// explanation is what help says about one command when it is asked for that command alone.
type explanation struct {
	flags   []flagMeaning
	example string // what may be typed
}

// flagMeaning is a flag without its dash, and what it does.
type flagMeaning struct {
	Flag    string `json:"flag"`
	Meaning string `json:"meaning"`
}

// Meanings that several flags have.
const (
	withStat   = "print its Stat, too"
	watched    = "print an event at the next change, once"
	anyVersion = "do it only if this is its version now (default: any version)"
)

// explanations has those of the commands that need one.
var explanations = map[string]explanation{
	"addWatch": {[]flagMeaning{
		{"m", "PERSISTENT: this znode and its list of children; PERSISTENT_RECURSIVE (default): all below it, too"},
	}, "addWatch -m PERSISTENT /app"},
	"addauth": {nil, "addauth digest bob:secret"},
	"config": {[]flagMeaning{
		{"c", "only the version and the addresses for clients"},
		{"w", watched},
		{"s", withStat},
	}, "config -c"},
	"connect": {nil, "connect zk1:2181,zk2:2181/app"},
	"create": {[]flagMeaning{
		{"s", "sequential: the parent's counter is added to the name"},
		{"e", "ephemeral: it is deleted when this session ends"},
		{"c", "container: it is deleted some time after its last child"},
		{"t", "deleted once it has been unchanged for this many milliseconds and has no children"},
		{"p", "create missing parents first"},
	}, "create -e /app/me 'two words' world:anyone:r"},
	"delete": {[]flagMeaning{
		{"v", anyVersion},
	}, "delete -v 3 /app/settings"},
	"deleteall": {[]flagMeaning{
		{"b", "how many znodes each multi deletes, 1 to 10000 (default 1000)"},
	}, "deleteall /app -b 100"},
	"delquota": {[]flagMeaning{
		{"n", "only the soft limit of znodes"},
		{"b", "only the soft limit of bytes"},
		{"N", "only the hard limit of znodes"},
		{"B", "only the hard limit of bytes"},
	}, "delquota -n /app"},
	"export": {[]flagMeaning{
		{"a", "leave ACLs out"},
	}, "export /app app.json"},
	"find": {[]flagMeaning{
		{"n", "the name matches this glob"},
		{"g", "the data matches this regular expression"},
		{"k", "it is persistent or ephemeral"},
	}, "find -n 'lock-*' -k ephemeral /app"},
	"get": {[]flagMeaning{
		{"s", withStat},
		{"w", watched},
		{"b", "print the data in Base64"},
		{"x", "print the data as a hex dump"},
	}, "get -s /app/settings"},
	"getAcl": {[]flagMeaning{
		{"s", withStat},
	}, "getAcl /app"},
	"getEphemerals": {nil, "getEphemerals /app"},
	"help":          {nil, "help create"},
	"import": {[]flagMeaning{
		{"a", "leave ACLs out"},
		{"l", "set ACLs at the end"},
		{"n", "check only, and change nothing"},
		{"o", "overwrite znodes that exist"},
	}, "import -n app.json /copy"},
	"ls": {[]flagMeaning{
		{"s", withStat + "; at a terminal, a table of the children"},
		{"w", watched},
		{"R", "everything below it, too, one path a line"},
		{"?", "print the flags first"},
	}, "ls -R /app"},
	"printwatches": {nil, "printwatches off"},
	"reconfig": {[]flagMeaning{
		{"s", "print the Stat of the configuration, too"},
		{"v", "do it only if this is the version now, in hex, as config prints it"},
		{"file", "a file with all server lines of the new ensemble"},
		{"members", "all server lines of the new ensemble, separated by commas"},
		{"add", "server lines of servers that join or change"},
		{"remove", "ids of servers that leave"},
	}, "reconfig -remove 3 -add 'server.4=zk4:2888:3888;2181'"},
	"redo": {nil, "redo 3"},
	"removewatches": {[]flagMeaning{
		{"c", "only the one of its list of children"},
		{"d", "only the one of its data"},
		{"p", "only the one of addWatch -m PERSISTENT"},
		{"r", "only the one of addWatch -m PERSISTENT_RECURSIVE"},
		{"a", "all of them (the default)"},
		{"l", "forget them here even if the server can't be asked"},
	}, "removewatches /app -d"},
	"set": {[]flagMeaning{
		{"s", withStat},
		{"v", anyVersion},
		{"b", "the data is given in Base64"},
	}, "set /app/settings 'timeout = 30' -v 3"},
	"setAcl": {[]flagMeaning{
		{"s", withStat},
		{"v", "do it only if this is the version of its ACL now (default: any version)"},
		{"R", "for everything below it, too"},
	}, "setAcl /app world:anyone:r,auth::cdrwa"},
	"setquota": {[]flagMeaning{
		{"n", "soft limit of znodes: the servers log when it is exceeded"},
		{"b", "soft limit of bytes"},
		{"N", "hard limit of znodes: writes beyond it are refused"},
		{"B", "hard limit of bytes"},
	}, "setquota -N 1000 /app"},
	"stat": {[]flagMeaning{
		{"w", watched},
	}, "stat /app"},
	"sync": {nil, "sync /"},
	"tree": {[]flagMeaning{
		{"s", "show versions and sizes"},
		{"d", "so many levels (default: all)"},
	}, "tree -d 2 /app"},
	"watch": {[]flagMeaning{
		{"d", "print the data of changed znodes, too"},
		{"c", "end after so many changes"},
	}, "watch -d /app"},
}

// helpResult is a list of commands.
type helpResult struct {
	Commands []helpLine `json:"commands"`
}

type helpLine struct {
	Usage   string        `json:"usage"`
	About   string        `json:"about"`
	Flags   []flagMeaning `json:"flags,omitempty"`
	Example string        `json:"example,omitempty"`
}

func (r helpResult) appendText(b []byte, c colours) []byte {
	for _, l := range r.Commands {
		name, rest, _ := strings.Cut(l.Usage, " ")
		b = append(append(b, c.blue(name)...), ' ')
		b = append(b, strings.TrimSpace(rest)+"\n        "+l.About+"\n"...)
		for _, f := range l.Flags {
			b = append(b, "        -"+f.Flag+"  "+f.Meaning+"\n"...)
		}
		if l.Example != "" {
			b = append(b, "        for example: "+l.Example+"\n"...)
		}
	}
	return b
}

// runHelp lists the commands, or explains one.
func runHelp(_ context.Context, s *Shell, a *arguments) error {
	var r helpResult
	line := func(c *command) helpLine { return helpLine{Usage: strings.TrimSpace(c.usageLine()), About: c.about} }
	if len(a.words) == 0 {
		for _, c := range commands() {
			r.Commands = append(r.Commands, line(c))
		}
		return s.out.emit(r)
	}
	c := find(a.word(0))
	if c == nil {
		return &failure{text: "Command not found: Command not found " + a.word(0), hint: "`help` lists the commands",
			code: codeUnknown}
	}
	l, more := line(c), explanations[c.name]
	l.Flags, l.Example = more.flags, more.example
	r.Commands = append(r.Commands, l)
	return s.out.emit(r)
}
