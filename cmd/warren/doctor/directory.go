package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/server"
	"github.com/seed94657493/warren/server/datadir"
	"github.com/seed94657493/warren/server/rebuild"
	"github.com/seed94657493/warren/snapshot"
	"github.com/seed94657493/warren/wal"
	"github.com/seed94657493/warren/wal/vfs"
)

// Directory is the data directories of one server.
type Directory struct {
	FS      vfs.FS
	DataDir string
	LogDir  string // dataLogDir; DataDir if it is the same
	// Member says that the server takes part in an ensemble, so that it needs a file myid.
	Member bool
	// NoAutocreate says that the server does not begin with an empty tree unless a file initialize asks for it:
	// db.autocreate=false of a standalone server.
	NoAutocreate bool
	// MaxFrameBytes is jute.maxbuffer of the clients.
	MaxFrameBytes int64
	// Mount returns the kind of file system that holds a path, such as ext4; nil: not looked at.
	Mount func(path string) (kind string, err error)
	// Measure makes the disk be measured, which writes a file.
	Measure bool
	// Settle is how long to wait before what looks like damage of the log is looked at again: a server that is
	// writing makes it look so. 0: it is looked at again at once.
	Settle time.Duration
	// Now is the clock that measures.
	Now func() time.Time
}

// The remedies that several checks share.
const (
	remedyResync = findings.RemedyResync
	remedyPurge  = "set autopurge.purgeInterval, or remove old files with zkCleanup.sh"
	remedyEmpty  = "point dataDir to the right place. If the log reaches back to the first txn, start once with " +
		"snapshot.trust.empty=true; else "
)

// directoryCheck is one look at a directory.
type directoryCheck struct {
	*Directory
	Findings
	snapDir, logDir string
	newest          proto.Zxid     // of the newest snapshot that is whole, -1 if there is none
	last            proto.Zxid     // txn with which the log ends, -1 if that is not known
	committed       proto.Zxid     // txn that the log had when that was looked up; 0 if none is known
	blind           bool           // something may not be read, which has been said
	damaged         []damaged      // snapshots
	found           *rebuild.Found // what a server would start from; nil if it would not, or that is not known
}

// damaged is a snapshot that cannot be taken.
type damaged struct {
	zxid proto.Zxid
	name string
	err  error
}

// Check looks at the directories.
func (d *Directory) Check() Findings {
	c := &directoryCheck{Directory: d, snapDir: filepath.Join(d.DataDir, datadir.Folder),
		logDir: filepath.Join(d.LogDir, datadir.Folder), newest: -1, last: -1}
	if c.finished() && c.exists() {
		for _, look := range []func(){c.blank, c.mixed, c.snapshots, c.log, c.damages, c.epochs, c.strays} {
			if !c.blind {
				look()
			}
		}
	}
	c.wanted()
	c.identity()
	c.place()
	c.Findings.Sort()
	return c.Findings
}

// denied reports whether err says that this user may not read path. That is no damage, and concerns most files if it
// concerns one.
func (c *directoryCheck) denied(path string, err error) bool {
	if !errors.Is(err, fs.ErrPermission) {
		return false
	}
	if !c.blind {
		c.blind = true
		c.add(Critical, "permissions", path, "run it as the user of the server; if that is who may not, give the "+
			"directories to it: chown -R", "%v", err)
	}
	return true
}

// finished looks whether a change of the directories has ended.
func (c *directoryCheck) finished() bool {
	var unfinished *datadir.Unfinished
	err := datadir.Check(c.FS, c.snapDir, c.logDir)
	switch {
	case err == nil:
		return true
	case errors.As(err, &unfinished):
		c.add(Critical, "unfinished", unfinished.Mark, unfinished.WayOut,
			"%s was interrupted: no server starts on what it has left", unfinished.Command)
	case !c.denied(c.DataDir, err):
		c.add(Critical, "directory", c.DataDir, "let the user of the server read and write it",
			"cannot be read: %v", err)
	}
	return false
}

// exists looks whether there is anything.
func (c *directoryCheck) exists() bool {
	for _, dir := range []string{c.snapDir, c.logDir} {
		if _, err := c.FS.List(dir); errors.Is(err, fs.ErrNotExist) {
			c.add(Notice, "directory", dir, "",
				"does not exist: a server begins with an empty tree, or takes it from its leader")
			return false
		} else if c.denied(dir, err) {
			return false
		} else if err != nil {
			c.add(Critical, "directory", dir, "let the user of the server read and write it",
				"cannot be read: %v", err)
			return false
		}
	}
	return true
}

// blank looks whether the server has started without its database. Other problems with meta.db are told elsewhere.
func (c *directoryCheck) blank() {
	if p, err := server.ReadProvenance(c.FS, c.DataDir, ""); err == nil && p.Blank {
		c.add(Warning, "blank", c.snapDir,
			"none is needed if a majority of the other voters has its data: a leader brings this server up to date. "+
				"If disks of a majority are lost for good, run warren recover on a server that has data",
			"the database was missing at a start: the server does not vote until a leader has brought it up to date")
	}
}

// wanted looks whether there is a tree, or may be an empty one.
func (c *directoryCheck) wanted() {
	if !c.NoAutocreate || c.blind {
		return
	}
	for _, dir := range []string{c.DataDir, c.LogDir} {
		if _, err := c.FS.Stat(filepath.Join(dir, "initialize")); err == nil {
			return
		}
	}
	if h, err := ReadHolding(c.FS, c.DataDir, c.LogDir); err == nil && h.Empty() {
		c.add(Critical, "no-data", c.snapDir,
			"find the data; if an empty tree is meant, put a file initialize into dataDir",
			"is empty, and db.autocreate is false: the server does not start")
	}
}

// mixed looks for snapshots among logs and the other way round. Source: storage 1.3.
func (c *directoryCheck) mixed() {
	if c.snapDir == c.logDir {
		return
	}
	for dir, stranger := range map[string]string{c.logDir: "snapshot.", c.snapDir: "log."} {
		names, err := c.FS.List(dir)
		if err != nil {
			continue
		}
		if i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, stranger) }); i >= 0 {
			c.add(Critical, "mixed-directories", filepath.Join(dir, names[i]),
				"move the files log.* to dataLogDir and snapshot.* to dataDir",
				"is in the wrong directory: the server does not start")
		}
	}
}

// snapshots verifies every snapshot.
func (c *directoryCheck) snapshots() {
	names, err := vfs.Files(c.FS, c.snapDir)
	if err != nil {
		return
	}
	view, _ := c.provenance().Snapshots(c.FS, c.snapDir, c.Member)
	good := 0
	for _, name := range names {
		zxid, _, ok := snapshot.ParseName(name)
		if !ok {
			continue
		}
		err := view.Verify(snapshot.Meta{Zxid: zxid, Name: name})
		if errors.Is(err, fs.ErrNotExist) {
			continue // a server has just purged it
		}
		if c.denied(filepath.Join(c.snapDir, name), err) {
			return
		}
		if err == nil {
			good++
			c.newest = max(c.newest, zxid)
		} else {
			c.damaged = append(c.damaged, damaged{zxid, name, err})
		}
	}
	logs, _ := wal.Names(c.FS, c.logDir) // log says what is wrong with them
	if good == 0 && (len(logs) > 0 || len(c.damaged) > 0) {
		remedy := remedyResync
		if len(c.damaged) == 0 {
			remedy = remedyEmpty + remedy
		} else {
			remedy = "look for a failing disk; " + remedy
		}
		c.add(Critical, "no-snapshot", c.snapDir, remedy,
			"there is no snapshot that is whole: the server does not start")
	}
	if good > 20 {
		c.add(Warning, "purge", c.snapDir, remedyPurge, "%d snapshots are kept: old ones are not removed", good)
	}
	if c.newest >= 0 {
		c.shape()
	}
}

// damages tells what is wrong with snapshots, and what the server does about it.
func (c *directoryCheck) damages() {
	for _, f := range c.damaged {
		severity, remedy := Warning,
			"move it away; the server passes it over. warren snapshot verify looks at a single one"
		var p *rebuild.Passed
		if c.found != nil {
			if i := slices.IndexFunc(c.found.Passed, func(p rebuild.Passed) bool { return p.Name == f.name }); i >= 0 {
				p = &c.found.Passed[i]
			}
		}
		switch {
		case p != nil && p.Junk:
			remedy = "find out where it came from; it was no snapshot of this server, which puts it aside and starts"
		case p != nil && p.IsWhole():
			severity = Error
			remedy = "find out where it came from; the server puts it aside, and starts from the one before"
		case f.zxid >= c.newest:
			severity = Error
			remedy = "leave it: the server starts from the one before, if the log leads from there to it; " +
				"look for a failing disk. warren snapshot verify looks at a single one"
		}
		c.add(severity, "snapshot-damaged", filepath.Join(c.snapDir, f.name), remedy, "%v", f.err)
	}
}

// provenance is what meta.db tells. Other checks say what is wrong with it.
func (c *directoryCheck) provenance() *server.Provenance {
	p, err := server.ReadProvenance(c.FS, c.DataDir, "")
	if err != nil {
		return server.NoProvenance()
	}
	return p
}

// log verifies what a server replays, and then the older files.
func (c *directoryCheck) log() {
	if kept := c.provenance(); c.Member && !kept.Blank {
		c.committed = kept.Committed() // before the log is read: a server may be writing it
	}
	names, err := wal.Names(c.FS, c.logDir)
	if err != nil {
		c.add(Critical, "log-names", c.logDir, "keep one of the files and move the other away", "%v", err)
		return
	}
	if len(names) == 0 {
		if c.newest > 0 {
			c.add(Notice, "log-missing", c.logDir,
				"if it is not meant so, as after a restore, look whether dataLogDir was moved without its files",
				"there is no log after snapshot %v", c.newest)
		}
		if c.last = c.newest; c.last >= 0 {
			c.digest()
		}
		return
	}
	from := max(c.newest, 0) + 1
	report, err := c.verifyLog(from)
	var damage *wal.Error
	switch {
	case c.denied(c.logDir, err):
		return
	case errors.As(err, &damage) && errors.Is(err, wal.ErrGap):
		c.add(Critical, "log-gap", damage.File, "put the missing file back; "+remedyResync,
			"txns are missing before %v: %s", damage.Zxid, damage.Reason)
	case errors.As(err, &damage):
		c.add(Critical, "log-damaged", damage.File, remedyResync, "at offset %d, txn %v: %s", damage.Offset,
			damage.Zxid, damage.Reason)
	case err != nil:
		c.add(Critical, "log-damaged", c.logDir, remedyResync, "%v", err)
	default:
		c.last = report.Last
		for _, repair := range report.Repairs {
			c.add(Warning, "log-torn", c.logDir, "none is needed: the server cuts it off when it starts; ZooKeeper "+
				"may need warren wal repair", "%s", repair)
		}
	}
	needed := wal.Needed(names, from)
	for _, name := range names[:len(names)-len(needed)] {
		file := filepath.Join(c.logDir, name)
		_, err := wal.Scan(c.FS, file, func(*wal.Record) error { return nil })
		if errors.Is(err, fs.ErrNotExist) {
			continue // a server has just purged it
		}
		if c.denied(file, err) {
			return
		}
		if err != nil {
			c.add(Warning, "log-damaged-old", file,
				"take a backup now: it is needed only if the newest snapshot is lost", "%v", err)
		}
	}
	if len(names) > 100 {
		c.add(Warning, "purge", c.logDir, remedyPurge, "%d log files are kept: old ones are not removed", len(names))
	}
	if c.last >= 0 && c.newest >= 0 {
		c.digest()
	}
}

// verifyLog believes what is wrong with the log when it has seen it twice.
func (c *directoryCheck) verifyLog(from proto.Zxid) (report wal.Report, err error) {
	for seen := ""; ; {
		report, err = wal.Verify(wal.Options{FS: c.FS, Dir: c.logDir}, from, func(*wal.Record) error { return nil })
		if err == nil && len(report.Repairs) == 0 {
			return report, nil
		}
		now := fmt.Sprint(report, err)
		if now == seen {
			return report, err
		}
		seen = now
		time.Sleep(c.Settle)
	}
}

// epochs compares the epoch files with each other and with the log. Source: storage 1.4.
func (c *directoryCheck) epochs() {
	unreadable := false
	read := func(name string) (epoch int64, ok bool) {
		path := filepath.Join(c.snapDir, name)
		line, err := lineOf(c.FS, path)
		if errors.Is(err, fs.ErrNotExist) || c.denied(path, err) {
			return 0, false
		}
		if err == nil {
			epoch, err = strconv.ParseInt(line, 10, 64)
		}
		if err != nil {
			unreadable = true
			c.add(Critical, "epoch", path, remedyResync, "cannot be read: %v", err)
		}
		return epoch, err == nil
	}
	accepted, hasAccepted := read("acceptedEpoch")
	current, hasCurrent := read("currentEpoch")
	err := server.CheckEpochs(c.FS, c.DataDir, c.Member, max(c.last, 0))
	switch {
	case unreadable, c.blind:
	case err != nil:
		c.add(Critical, "epoch", c.snapDir, remedyResync, "%v: the server does not start", err)
	case hasCurrent && hasAccepted && current > accepted:
		c.add(Warning, "epoch", c.snapDir,
			"none is needed: the server goes by meta.db, and writes the files anew; ZooKeeper does not start from it",
			"currentEpoch %d is above acceptedEpoch %d", current, accepted)
	case hasCurrent && c.last.Epoch() > current:
		c.add(Warning, "epoch", c.snapDir, "none is needed: a server that was killed at that moment leaves it so, "+
			"and goes on from there; ZooKeeper does not start from it",
			"the log ends with %v, but currentEpoch is %d", c.last, current)
	}
	c.promises(hasCurrent || hasAccepted)
	if c.Member && hasCurrent != hasAccepted {
		c.add(Warning, "epoch", c.snapDir, "none is needed: the server makes it anew from the log",
			"one of currentEpoch and acceptedEpoch is missing")
	}
}

// promises looks whether meta.db is whole. hasFiles says that there is an epoch file.
func (c *directoryCheck) promises(hasFiles bool) {
	_, err := server.ReadProvenance(c.FS, c.DataDir, "")
	switch {
	case !errors.Is(err, server.ErrMeta):
	case c.Member && !hasFiles:
		c.add(Critical, "meta", c.snapDir, remedyResync,
			"%v; there are no epoch files either, so what the server has promised is unknown: "+
				"it does not start", err)
	default:
		c.add(Warning, "meta", c.snapDir,
			"none is needed: the server sets it aside and makes it anew from the epoch files; "+
				"look for a failing disk", "%v", err)
	}
}

// strays looks for what interrupted runs and tools have left. Source: storage 1.2.
func (c *directoryCheck) strays() {
	for _, dir := range slices.Compact([]string{c.snapDir, c.logDir}) {
		names, err := c.FS.List(dir)
		if err != nil {
			continue
		}
		for _, name := range names {
			path := filepath.Join(dir, name)
			switch {
			case strings.HasPrefix(name, snapshot.Aside):
				c.add(Notice, "stray-file", path, "find out where it came from, and remove it",
					"was put aside by the server: it is no snapshot, or not the one that its name says, or has a "+
						"wrong tree")
			case strings.HasPrefix(name, "repair."):
				c.add(Notice, "stray-file", path, "remove it when the repair is known to be right",
					"was set aside by a repair")
			case strings.HasSuffix(name, ".tmp"):
				c.add(Notice, "stray-file", path, "remove it",
					"was left by an interrupted write; ZooKeeper may load a snapshot of this name")
			case strings.HasPrefix(name, "log.") && strings.Count(name, ".") > 1:
				c.add(Warning, "stray-file", path, "move it away", "ZooKeeper reads it as a log beside the real one")
			}
		}
	}
}

// identity looks at myid. Source: operations 1.2.
func (c *directoryCheck) identity() {
	path := filepath.Join(c.DataDir, "myid")
	line, err := lineOf(c.FS, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if c.Member {
			c.add(Error, "myid", path, "write the N of this server's line server.N into it",
				"is missing: the server does not start")
		}
		return
	case c.denied(path, err):
		return
	case err != nil:
		c.add(Error, "myid", path, "let the user of the server read it", "%v", err)
		return
	}
	id, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	switch {
	case err != nil:
		c.add(Error, "myid", path, "write the N of this server's line server.N into it",
			"holds %q, which is not a number", line)
	case id < 0 || id > 255:
		c.add(Warning, "myid", path, "choose an id from 0 to 255", "holds %d, which does not fit into session ids", id)
	case strings.TrimSpace(line) != line:
		c.add(Warning, "myid", path, "remove the blanks",
			"has blanks around the number, with which ZooKeeper does not start")
	}
	if err == nil {
		c.owner(id)
	}
}

// owner looks whether meta.db is that of this server.
func (c *directoryCheck) owner(id int64) {
	p, err := server.ReadProvenance(c.FS, c.DataDir, "")
	if err == nil && c.Member && p.ServerID >= 0 && p.ServerID != id {
		c.add(Critical, "other-server", c.snapDir,
			"put the directory of server "+strconv.FormatInt(id, 10)+" back, or correct myid; "+
				"if that directory is lost, begin with an empty one",
			"belongs to server %d, and myid is %d: the server does not start", p.ServerID, id)
	}
}

// lineOf returns the first line of a small file, which ends as a line of Java does.
func lineOf(fsys vfs.FS, path string) (string, error) {
	text, err := vfs.ReadFile(fsys, path, 4096)
	if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
		text = text[:i]
	}
	return string(text), err
}
