package sizes

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCounterAddsUp(t *testing.T) {
	c := NewCounter(Sum{Znodes: 5, Bytes: 100})
	c.Enter("", Sum{Znodes: 1})
	c.Enter("a", Sum{Znodes: 1, Bytes: 10})
	c.Leaf([]byte("b"), Sum{Znodes: 1, Bytes: 20})
	c.Enter("c", Sum{Znodes: 1, Bytes: 30, Writes: 2})
	require.Equal(t, 3, c.Depth())
	require.Equal(t, "c", c.Name(2))
	require.Nil(t, c.Leave())
	require.Nil(t, c.Leave())
	c.Leaf([]byte("d"), Sum{Znodes: 1, Bytes: 40})
	root := c.Leave()
	require.Equal(t, Sum{Znodes: 5, Bytes: 100, Writes: 2}, root.Sum)
	require.Equal(t, Sum{Znodes: 3, Bytes: 60, Writes: 2}, root.Find([]string{"a"}).Sum)
	require.Equal(t, Sum{Znodes: 1, Bytes: 30, Writes: 2}, root.Find([]string{"a", "c"}).Sum)
	require.Nil(t, root.Find([]string{"a", "x"}))
	require.Same(t, root, root.Find(nil))
}

// The head has whole levels, as copies, and counts what it leaves out.
func TestHeadHasTheUpperLevels(t *testing.T) {
	root := &Part{Sum: Sum{Bytes: 9}, Others: 1, Parts: []*Part{
		{Name: "a", Parts: []*Part{{Name: "b", Sum: Sum{Bytes: 5}}, {Name: "c"}}}, {Name: "d"}}}
	head := root.Head(3)
	require.Equal(t, Sum{Bytes: 9}, head.Sum)
	require.Equal(t, 1, head.Others)
	require.NotNil(t, head.Find([]string{"d"}))
	require.Nil(t, head.Find([]string{"a", "b"}), "4 are too many")
	require.Equal(t, 2, head.Find([]string{"a"}).Others)
	require.Equal(t, 2, root.count()-2, "the part itself is as it was")
	require.Equal(t, root, root.Head(4))
	require.NotSame(t, root.Parts[0], root.Head(4).Parts[0])
}

// However many znodes there are, few parts are kept, and they are the largest; the sums are exact.
func TestCounterIsBounded(t *testing.T) {
	const wide, deep = 300, 300
	c := NewCounter(Sum{Znodes: wide*deep + 1, Bytes: wide * deep})
	c.Enter("", Sum{Znodes: 1})
	for i := range wide {
		c.Enter(fmt.Sprint(i), Sum{Znodes: 1, Bytes: int64(i) * 1000})
		for j := range deep - 1 {
			c.Leaf(fmt.Append(nil, j), Sum{Znodes: 1, Bytes: 1, Writes: 1})
		}
		c.Leave()
	}
	root := c.Leave()
	require.EqualValues(t, wide*deep+1, root.Znodes)
	require.Len(t, root.Parts, partsMax)
	require.Equal(t, wide-partsMax, root.Others)
	require.NotNil(t, root.Find([]string{"299"}))
	require.Nil(t, root.Find([]string{"0"}))
	require.Equal(t, root.count(), c.kept)
	require.LessOrEqual(t, c.kept, keptMax)
}
