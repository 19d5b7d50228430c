package host

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	logged "go.uber.org/zap/zaptest/observer"

	"github.com/seed94657493/warren/proto"
	"github.com/seed94657493/warren/zab"
)

// listOf is a notification of a server whose list has the given voters.
func listOf(from proto.ServerID, voters ...int) *zab.Message {
	var lines []string
	for _, id := range voters {
		lines = append(lines, fmt.Sprintf("server.%d=127.0.0.1:1:2:participant", id))
	}
	return &zab.Message{Type: zab.Notification, From: from, Config: []byte(strings.Join(lines, "\n") + "\nversion=0")}
}

// A list is compared with the own one when it is new and when it changes. A repeated notification costs nothing. A
// list that allows a second leader is reported again each minute.
func TestAListIsComparedOnce(t *testing.T) {
	m := leased(t, 1, 1, 2, 3)
	m.Members.Store(&m.Config.Quorum)
	core, logs := logged.New(zap.InfoLevel)
	m.Log = zap.New(core)
	now := time.Unix(1000, 0)
	hears := func(msg *zab.Message) (message string) {
		m.notices.hearsList(msg, m.Active, now)
		all := logs.TakeAll()
		require.LessOrEqual(t, len(all), 1)
		if len(all) == 0 {
			return ""
		}
		message, _, _ = strings.Cut(all[0].Message, ":")
		return message
	}
	const other = "another server has a different list of servers"
	const unsafe = "the list of another server allows it to elect a second leader"

	same, grown, far := listOf(2, 1, 2, 3), listOf(2, 1, 2, 3, 4), listOf(3, 3, 4, 5, 6, 7)
	garbled := &zab.Message{From: 4, Config: []byte("server.1=")}
	require.Empty(t, hears(same))
	require.Equal(t, other, hears(grown))
	require.Empty(t, hears(grown), "it is known")
	require.Empty(t, hears(garbled))
	for _, msg := range []*zab.Message{grown, garbled} {
		require.Zero(t, testing.AllocsPerRun(100, func() { m.notices.hearsList(msg, m.Active, now) }),
			"a repeated list is neither read nor compared")
	}
	require.Equal(t, unsafe, hears(far))
	require.Empty(t, hears(far))
	now = now.Add(listsEvery)
	require.Empty(t, hears(grown))
	require.Equal(t, unsafe, hears(far), "each minute")
	require.Equal(t, other, hears(listOf(3, 1, 2)), "the list has changed")
	now = now.Add(listsEvery)
	require.Empty(t, hears(listOf(3, 1, 2)))
	require.Equal(t, unsafe, hears(far), "and back again")

	active := *m.Active
	m.Active = &active
	require.Equal(t, unsafe, hears(far), "lists are compared again when the own list changes")
	require.Equal(t, other, hears(grown))

	for i := range 2 * listsMax {
		hears(listOf(2, 1, 2, 3, 100+i))
	}
	require.Empty(t, hears(listOf(2, 1, 2, 3, 99)), "a server that changes its list all the time")
	now = now.Add(listsEvery)
	require.Equal(t, other, hears(listOf(2, 1, 2, 3, 99)))

	for id := proto.ServerID(10); id < 10+2*listsMax; id++ {
		hears(listOf(id, 1, 2, 3))
		require.LessOrEqual(t, len(m.notices.lists.of), listsMax)
	}
}
