package theirs

import "fmt"

// shown is what of a Stat does not differ from run to run.
type shown struct {
	version, cversion, aversion, length, children int32
	ephemeral, unwritten, childless, hasTimes     bool
}

func (s shown) String() string {
	return fmt.Sprintf("stat of version %d, cversion %d, aversion %d, %d bytes, %d children, ephemeral %v, "+
		"unwritten %v, childless %v, times %v",
		s.version, s.cversion, s.aversion, s.length, s.children, s.ephemeral, s.unwritten, s.childless, s.hasTimes)
}
