package files

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
)

// errDiffer is the outcome of a comparison that has printed what differs.
var errDiffer = errors.New("the snapshots differ")

func newSnapshotCompareCommand() *cobra.Command {
	var (
		output       string
		bytes, nodes int64
	)
	cmd := &cobra.Command{
		Use:   "compare LEFT RIGHT",
		Short: "Show how two snapshots differ",
		Long: "Lists the znodes that only one of two snapshot files has, and those that differ in data, ACL,\n" +
			"versions, zxids, times or owner. The exit code is 1 if there are any. With --output toolkit it\n" +
			"prints sizes by depth as ZooKeeper's zkSnapshotComparer does, down to the thresholds --bytes and\n" +
			"--nodes, and the exit code is 0.",
		Example: "  warren snapshot compare snapshot.100000012 snapshot.200000034\n" +
			"  warren snapshot compare zk1/snapshot.200000034 zk2/snapshot.200000034 --output json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Misuse(cmd, fmt.Errorf("name two files to compare, not %d", len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c := SnapshotComparison{Bytes: bytes, Nodes: nodes}
			if err := c.Load(args[0], args[1]); err != nil {
				return err
			}
			if output == "toolkit" {
				return c.PrintToolkit(cmd.OutOrStdout())
			}
			return c.print(cmd.OutOrStdout(), output)
		},
	}
	cli.AddOutput(cmd.Flags(), &output, "simple",
		"simple: text; json: one object a line; toolkit: as ZooKeeper's comparer", "toolkit")
	cmd.Flags().Int64VarP(&bytes, "bytes", "b", 0,
		"with --output toolkit, print only differences of more than so many bytes")
	cmd.Flags().Int64VarP(&nodes, "nodes", "n", 0,
		"with --output toolkit, print only differences of more than so many znodes")
	return cmd
}

type comparedSide struct {
	file string
	tree *snapshotTree
	took time.Duration
}

// SnapshotComparison is two snapshots that are held against each other.
type SnapshotComparison struct {
	left, right  comparedSide
	Bytes, Nodes int64

	IsDebug bool      // print what is compared with what
	Ask     io.Reader // from which the depths to compare are read; nil: all are compared
}

// Load reads both files.
func (c *SnapshotComparison) Load(left, right string) error {
	for i, side := range []*comparedSide{&c.left, &c.right} {
		began := time.Now()
		file := []string{left, right}[i]
		tree, err := LoadTree(file)
		if err != nil {
			return err
		}
		*side = comparedSide{file: file, tree: tree, took: time.Since(began)}
	}
	return nil
}

// znodeDifference is one znode that differs.
type znodeDifference struct {
	Path  string   `json:"path"`
	Kind  string   `json:"kind"` // left, right or changed
	What  []string `json:"what,omitempty"`
	Left  int      `json:"leftBytes"`
	Right int      `json:"rightBytes"`
}

// differences returns the znodes that differ, sorted by path.
func (c *SnapshotComparison) differences() []znodeDifference {
	var all []znodeDifference
	for path, l := range c.left.tree.znodes {
		r := c.right.tree.znodes[path]
		if r == nil {
			all = append(all, znodeDifference{Path: cmp.Or(path, "/"), Kind: "left", Left: l.Bytes})
		} else if what := l.against(r); len(what) > 0 {
			all = append(all, znodeDifference{cmp.Or(path, "/"), "changed", what, l.Bytes, r.Bytes})
		}
	}
	for path, r := range c.right.tree.znodes {
		if c.left.tree.znodes[path] == nil {
			all = append(all, znodeDifference{Path: cmp.Or(path, "/"), Kind: "right", Right: r.Bytes})
		}
	}
	slices.SortFunc(all, func(a, b znodeDifference) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// against returns what differs between two znodes, in words.
func (z *treeZnode) against(o *treeZnode) (what []string) {
	note := func(differs bool, name string) {
		if differs {
			what = append(what, name)
		}
	}
	a, b := &z.stat, &o.stat
	note(z.Bytes != o.Bytes || z.sum != o.sum || z.isNull != o.isNull, "data")
	note(z.acl != o.acl, "acl")
	note(a.Version != b.Version, "version")
	note(a.Cversion != b.Cversion, "cversion")
	note(a.Aversion != b.Aversion, "aversion")
	note(a.Czxid != b.Czxid, "czxid")
	note(a.Mzxid != b.Mzxid, "mzxid")
	note(a.Pzxid != b.Pzxid, "pzxid")
	note(a.Ctime != b.Ctime, "ctime")
	note(a.Mtime != b.Mtime, "mtime")
	note(a.EphemeralOwner != b.EphemeralOwner, "owner")
	return what
}

func (c *SnapshotComparison) print(w io.Writer, output string) error {
	out := bufio.NewWriter(w)
	all := c.differences()
	if output == "json" {
		encoder := json.NewEncoder(out)
		for _, d := range all {
			if err := encoder.Encode(d); err != nil {
				return err
			}
		}
	} else {
		for _, d := range all {
			if d.Kind == "changed" {
				fmt.Fprintf(out, "changed %s %s\n", cli.Printable(d.Path), strings.Join(d.What, " "))
			} else {
				fmt.Fprintf(out, "only %s %s\n", d.Kind, cli.Printable(d.Path))
			}
		}
		fmt.Fprintf(out, "%d and %s, %d differ\n", len(c.left.tree.znodes),
			wording.Count(len(c.right.tree.znodes), "znode"), len(all))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if len(all) > 0 {
		return errDiffer
	}
	return nil
}
