package command

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
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
		Short: "Say how two snapshots differ",
		Long: "Lists the znodes that only one of two snapshot files has, and those that differ in data, ACL, versions, zxids, times\n" +
			"or owner. The exit code is 1 if there are any. With --output toolkit it prints sizes by depth as ZooKeeper's\n" +
			"zkSnapshotComparer does, down to the thresholds --bytes and --nodes, and the exit code is 0.",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 2:
				return &usageError{cmd, fmt.Errorf("two files are compared, not %d", len(args))}
			case output == "toolkit":
				return nil
			}
			return checkOutput(cmd, output)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c := snapshotComparison{bytes: bytes, nodes: nodes}
			for i, side := range []*comparedSide{&c.left, &c.right} {
				began := time.Now()
				tree, err := loadTree(args[i])
				if err != nil {
					return err
				}
				*side = comparedSide{file: args[i], tree: tree, took: time.Since(began)}
			}
			if output == "toolkit" {
				return c.printToolkit(cmd.OutOrStdout())
			}
			return c.print(cmd.OutOrStdout(), output)
		},
	}
	cmd.Flags().StringVar(&output, "output", "simple", "simple: text; json: one object a line; toolkit: as ZooKeeper's comparer")
	cmd.Flags().Int64VarP(&bytes, "bytes", "b", 0, "with --output toolkit, the difference in bytes that is worth a line when exceeded")
	cmd.Flags().Int64VarP(&nodes, "nodes", "n", 0, "with --output toolkit, the same in znodes")
	return cmd
}

type comparedSide struct {
	file string
	tree *snapshotTree
	took time.Duration
}

// snapshotComparison is two snapshots that are held against each other.
type snapshotComparison struct {
	left, right  comparedSide
	bytes, nodes int64
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
func (c *snapshotComparison) differences() []znodeDifference {
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

func (c *snapshotComparison) print(w io.Writer, output string) error {
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
			switch d.Kind {
			case "changed":
				fmt.Fprintf(out, "changed %s", quoteIfNeeded(d.Path))
				for _, what := range d.What {
					fmt.Fprintf(out, " %s", what)
				}
				out.WriteByte('\n')
			default:
				fmt.Fprintf(out, "only %s %s\n", d.Kind, quoteIfNeeded(d.Path))
			}
		}
		fmt.Fprintf(out, "%d and %d znodes, %d differ\n", len(c.left.tree.znodes), len(c.right.tree.znodes), len(all))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if len(all) > 0 {
		return errDiffer
	}
	return nil
}

// printToolkit prints what zkSnapshotComparer prints. Source: operations section 6.7.
func (c *snapshotComparison) printToolkit(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "Successfully parsed options!")
	for _, side := range []*comparedSide{&c.left, &c.right} {
		fmt.Fprintf(out, "Deserialized snapshot in %s in %f seconds\n", filepath.Base(side.file), side.took.Seconds())
		fmt.Fprintf(out, "Processed data tree in %f seconds\n", 0.0)
	}
	left, right := c.left.tree.levels(), c.right.tree.levels()
	for _, levels := range [][][]*treeZnode{left, right} {
		fmt.Fprintf(out, "Node count: %d\nTotal size: %d\nMax depth: %d\n", levels[0][0].descendants+1, levels[0][0].total, len(levels))
		for depth, level := range levels {
			fmt.Fprintf(out, "Count of nodes at depth %d: %d\n", depth, len(level))
		}
		out.WriteByte('\n')
	}
	fmt.Fprintf(out, "Printing analysis for nodes difference larger than %d bytes or node count difference larger than %d.\n", c.bytes, c.nodes)
	for depth := range max(len(left), len(right)) {
		fmt.Fprintf(out, "Analysis for depth %d\n", depth)
		c.printLevel(out, left, right, depth)
	}
	fmt.Fprintln(out, "All layers compared.")
	return out.Flush()
}

// printLevel merges the znodes of one depth.
func (c *snapshotComparison) printLevel(w io.Writer, left, right [][]*treeZnode, depth int) {
	var l, r []*treeZnode
	if depth < len(left) {
		l = left[depth]
	}
	if depth < len(right) {
		r = right[depth]
	}
	alone := func(z *treeZnode, side string) {
		if z.total > c.bytes || int64(z.descendants) > c.nodes {
			fmt.Fprintf(w, "Node %s found only in %s tree. Descendant size: %d. Descendant count: %d\n", z.Path, side, z.total, z.descendants)
		}
	}
	for len(l) > 0 || len(r) > 0 {
		switch {
		case len(r) == 0 || len(l) > 0 && l[0].Path < r[0].Path:
			alone(l[0], "left")
			l = l[1:]
		case len(l) == 0 || r[0].Path < l[0].Path:
			alone(r[0], "right")
			r = r[1:]
		default:
			bytes, nodes := r[0].total-l[0].total, int64(r[0].descendants-l[0].descendants)
			if max(bytes, -bytes) > c.bytes || max(nodes, -nodes) > c.nodes {
				fmt.Fprintf(w, "Node %s found in both trees. Delta: %d bytes, %d descendants\n", l[0].Path, bytes, nodes)
			}
			l, r = l[1:], r[1:]
		}
	}
}
