package abuse

import (
	"strings"

	"encoding/binary"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/test/wire"
)

// watches is what can be done with watches.
func watches() []abuse {
	return []abuse{
		{name: "watches, up to the limit of a connection", memory: 1200, run: manyWatches},
		{name: "watches, no limit", memory: 1200, settings: map[string]string{"warren.maxWatches": "0"},
			run: manyWatches},
		{name: "watches of long paths, many connections", memory: 1500, left: 100, run: longWatches},
		{name: "setWatches of very many paths", memory: 800, run: longSetWatches},
		{name: "setWatches2 of all kinds", memory: 600, run: longSetWatches2},
		{name: "events that nobody takes", memory: 1500, run: unreadEvents},
		{name: "setWatches of 64 MiB, never finished", memory: 200, run: endlessSetWatches},
		{name: "setWatches of empty paths", memory: 200, run: emptySetWatches},
	}
}

// manyWatches leaves watches on paths that do not exist, then goes.
func manyWatches(a *attack) {
	s := a.begin(1)
	go a.skim(s)
	for n, most := 0, a.size(20_000, 1_200_000); n < most; {
		var b []byte
		for range 1000 {
			b = frame(b, 1, wire.Exists(fmt.Sprintf("/absent/of/a/bad/client/%d", n), true))
			n++
		}
		_, err := s.Write(b)
		require.NoError(a.t, err)
	}
	<-a.ctx.Done()
}

// longWatches leaves watches on paths of which each takes a block of memory of its own, on as many connections as an
// address may have, until the server takes no more.
func longWatches(a *attack) {
	together(a.size(8, 58), func(i int) {
		s := a.begin(1)
		go a.skim(s)
		for n, most := 0, a.size(500, 16_000); n < most; {
			var b []byte
			for range 100 {
				b = frame(b, 1, wire.Exists(fmt.Sprintf("/%02d%04200d", i, n), true))
				n++
			}
			_ = s.SetWriteDeadline(time.Now().Add(30 * time.Second))
			if _, err := s.Write(b); err != nil {
				return // refused: a limit
			}
		}
	})
	<-a.ctx.Done()
}

// longSetWatches brings as many watches as a connection may have, again and again.
func longSetWatches(a *attack) {
	var paths []string
	for i := range a.size(50_000, 900_000) {
		paths = append(paths, fmt.Sprintf("/absent/%d", i))
	}
	b := frame(nil, proto.XidSetWatches, wire.SetWatches(1, nil, paths, nil))
	together(a.size(2, 4), func(i int) {
		s := a.begin(i)
		go a.skim(s)
		a.pump(s, b)
	})
}

// longSetWatches2 does so with all kinds of watches, on paths that are watched in other ways already.
func longSetWatches2(a *attack) {
	var paths []string
	for i := range a.size(10_000, 180_000) {
		paths = append(paths, fmt.Sprintf("/absent/%d", i))
	}
	req := proto.SetWatches2{RelativeZxid: 1}
	for _, path := range paths {
		p := proto.Text(path)
		req.DataWatches, req.ExistWatches, req.ChildWatches = append(req.DataWatches, p), append(req.ExistWatches, p),
			append(req.ChildWatches, p)
		req.PersistentWatches, req.PersistentRecursiveWatches = append(req.PersistentWatches, p),
			append(req.PersistentRecursiveWatches, p)
	}
	b := frame(nil, proto.XidSetWatches, wire.Request{Op: proto.OpSetWatches2, Body: req.AppendTo(nil)})
	together(a.size(2, 4), func(i int) {
		s := a.begin(i)
		go a.skim(s)
		a.pump(s, b)
	})
}

// unreadEvents watches a busy znode with a long name on many connections, and reads none of the events.
func unreadEvents(a *attack) {
	path := "/" + strings.Repeat("n", a.size(1_000, 100_000))
	_, err := a.helper().Create(path, nil, proto.ModePersistent)
	require.NoError(a.t, err)
	for range a.size(10, 55) {
		s := a.beginDeaf(1)
		_, err := s.Write(frame(nil, 1, wire.AddWatch(path, proto.AddWatchPersistentRecursive)))
		require.NoError(a.t, err)
	}
	b := frame(nil, 1, wire.SetData(path, nil, -1))
	s := a.begin(2)
	go a.skim(s)
	a.pump(s, b)
}

// endlessSetWatches sends most of the largest frames there are.
func endlessSetWatches(a *attack) {
	chunk := make([]byte, 1<<20)
	together(a.size(4, 30), func(i int) {
		s := a.begin(i)
		head := binary.BigEndian.AppendUint32(nil, setWatchesLimit)
		head = binary.BigEndian.AppendUint32(head, 0xfffffff8)
		head = binary.BigEndian.AppendUint32(head, uint32(proto.OpSetWatches))
		_, err := s.Write(head)
		require.NoError(a.t, err)
		for range a.size(8, 63) {
			_ = s.SetWriteDeadline(time.Now().Add(5 * time.Second))
			if _, err := s.Write(chunk); err != nil {
				return // refused: a limit
			}
		}
	})
	<-a.ctx.Done()
}

// emptySetWatches sends lists of empty paths, which take more memory than they take on the wire.
func emptySetWatches(a *attack) {
	count := a.size(1<<20, 15<<20)
	body := binary.BigEndian.AppendUint32(make([]byte, 8), uint32(count))
	body = append(body, make([]byte, 4*count+8)...)
	b := frame(nil, proto.XidSetWatches, wire.Request{Op: proto.OpSetWatches, Body: body})
	together(a.size(2, 8), func(i int) {
		s := a.begin(i)
		_ = s.SetWriteDeadline(time.Now().Add(10 * time.Second))
		_, _ = s.Write(b) // the server may refuse it
	})
}
