package files

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// PrintToolkit prints what zkSnapshotComparer prints. Source: operations 6.7.
func (c *SnapshotComparison) PrintToolkit(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "Successfully parsed options!")
	for _, side := range []*comparedSide{&c.left, &c.right} {
		fmt.Fprintf(out, "Deserialized snapshot in %s in %f seconds\n", filepath.Base(side.file), side.took.Seconds())
		fmt.Fprintf(out, "Processed data tree in %f seconds\n", 0.0)
	}
	left, right := c.left.tree.levels(), c.right.tree.levels()
	for _, levels := range [][][]*treeZnode{left, right} {
		fmt.Fprintf(out, "Node count: %d\nTotal size: %d\nMax depth: %d\n", levels[0][0].descendants+1,
			levels[0][0].total, len(levels))
		for depth, level := range levels {
			fmt.Fprintf(out, "Count of nodes at depth %d: %d\n", depth, len(level))
		}
		out.WriteByte('\n')
	}
	if c.Ask != nil {
		return c.converse(out, left, right)
	}
	c.printThresholds(out)
	for depth := range max(len(left), len(right)) {
		c.printDepth(out, left, right, depth)
	}
	fmt.Fprintln(out, "All layers compared.")
	return out.Flush()
}

func (c *SnapshotComparison) printThresholds(w io.Writer) {
	fmt.Fprintf(w, "Printing analysis for nodes difference larger than %d bytes or node count difference larger "+
		"than %d.\n", c.Bytes, c.Nodes)
}

// converse compares what it is asked for: the next depth, that of a number, or the children of a path, until all
// depths were compared or the input has ended.
func (c *SnapshotComparison) converse(out *bufio.Writer, left, right [][]*treeZnode) error {
	questions := bufio.NewScanner(c.Ask)
	depths := max(len(left), len(right))
	for depth := 0; depth < depths; {
		fmt.Fprintf(out, "Current depth is %d\n- Press enter to move to print current depth layer;\n"+
			"- Type a number to jump to and print all nodes at a given depth;\n"+
			"- Enter an ABSOLUTE path to print the immediate subtree of a node. Path must start with '/'.\n", depth)
		if err := out.Flush(); err != nil {
			return err
		}
		if !questions.Scan() {
			return questions.Err()
		}
		c.printThresholds(out)
		text := strings.TrimSpace(questions.Text())
		number, err := strconv.Atoi(text)
		switch {
		case text == "":
			c.printDepth(out, left, right, depth)
			depth++
		case strings.HasPrefix(text, "/"):
			c.printSubtree(out, text)
		case err == nil && (number < 0 || number >= depths):
			fmt.Fprintf(out, "Depth must be in range [0, %d]\n", depths-1)
			continue
		case err == nil:
			depth = number // the next one is this one again, as in ZooKeeper
			c.printDepth(out, left, right, depth)
		default:
			fmt.Fprintf(out, "Input %s is not valid. Depth must be in range [0, %d]. Path must be an absolute path "+
				"which starts with '/'.\n", text, depths-1)
		}
		out.WriteByte('\n')
	}
	fmt.Fprintln(out, "All layers compared.")
	return out.Flush()
}

// printDepth compares the znodes of one depth.
func (c *SnapshotComparison) printDepth(w io.Writer, left, right [][]*treeZnode, depth int) {
	fmt.Fprintf(w, "Analysis for depth %d\n", depth)
	var l, r []*treeZnode
	if depth < len(left) {
		l = left[depth]
	}
	if depth < len(right) {
		r = right[depth]
	}
	c.printZnodes(w, l, r)
}

// printSubtree compares the children of a path.
func (c *SnapshotComparison) printSubtree(w io.Writer, path string) {
	fmt.Fprintf(w, "Analysis for node %s\n", path)
	key := strings.TrimSuffix(path, "/")
	c.printZnodes(w, c.left.tree.znodes[key].sorted(), c.right.tree.znodes[key].sorted())
}

// printZnodes merges two lists that are sorted by path. What is below the thresholds is printed in a conversation and
// with --debug.
func (c *SnapshotComparison) printZnodes(w io.Writer, l, r []*treeZnode) {
	all, debug := io.Discard, io.Discard
	if c.IsDebug {
		debug = w
	}
	if c.IsDebug || c.Ask != nil {
		all = w
	}
	alone := func(z *treeZnode, side string) {
		if z.total > c.Bytes || int64(z.descendants) > c.Nodes {
			fmt.Fprintf(w, "Node %s found only in %s tree. Descendant size: %d. Descendant count: %d\n", z.Path, side,
				z.total, z.descendants)
		} else {
			fmt.Fprintf(all, "Filtered %s node %s of size %d\n", side, z.Path, z.total)
		}
	}
	for len(l) > 0 && len(r) > 0 {
		fmt.Fprintf(debug, "Comparing %s to %s\n", l[0].Path, r[0].Path)
		switch {
		case l[0].Path < r[0].Path:
			fmt.Fprintln(debug, "left is less")
			alone(l[0], "left")
			l = l[1:]
		case r[0].Path < l[0].Path:
			fmt.Fprintln(debug, "right is less")
			alone(r[0], "right")
			r = r[1:]
		default:
			fmt.Fprintln(debug, "same")
			bytes, nodes := r[0].total-l[0].total, int64(r[0].descendants-l[0].descendants)
			if max(bytes, -bytes) > c.Bytes || max(nodes, -nodes) > c.Nodes {
				fmt.Fprintf(w, "Node %s found in both trees. Delta: %d bytes, %d descendants\n",
					l[0].Path, bytes, nodes)
			} else {
				fmt.Fprintf(all, "Filtered node %s of left size %d, right size %d\n", l[0].Path,
					l[0].total, r[0].total)
			}
			l, r = l[1:], r[1:]
		}
	}
	for _, z := range l {
		alone(z, "left")
	}
	for _, z := range r {
		alone(z, "right")
	}
}
