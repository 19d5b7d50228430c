package recovery

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/proto"
)

// holding is a voter with data, of the ensemble "old" unless it is told otherwise.
func holding(id, epoch int64, counter uint32) Member {
	return Member{ID: id, Votes: true, State: Holding, Ensemble: "old", Accepted: epoch, Current: epoch,
		Last: proto.MakeZxid(epoch, counter)}
}

func voter(id int64, s State) Member { return Member{ID: id, Votes: true, State: s} }

func of(m Member, ensemble string) Member {
	m.Ensemble = ensemble
	return m
}

func observing(m Member) Member {
	m.Votes = false
	return m
}

// majority is the rule of n voters.
func majority(n int) func([]int64) bool {
	return func(voters []int64) bool { return len(voters) > n/2 }
}

func TestWhatForbidsANewHistory(t *testing.T) {
	own := holding(3, 4, 9)
	for name, tt := range map[string]struct {
		own    Member
		others []Member
		giveUp []int64
		want   []string // parts of the problems, one each
	}{
		"the others are blank": {own, []Member{voter(1, Blank), voter(2, Blank)}, nil, nil},
		"one serves": {own, []Member{voter(1, Blank), voter(2, Serving)}, nil,
			[]string{"nothing to recover"}},
		"one serves, and is given up": {own, []Member{voter(1, Blank), voter(2, Serving)}, []int64{2},
			[]string{"nothing to recover"}},
		"one is silent": {own, []Member{voter(1, Blank), voter(2, Silent)}, nil,
			[]string{"--give-up 2", "servers 2, 3 may have"}},
		"one does not say": {own, []Member{voter(1, Blank), voter(2, Unknown)}, nil,
			[]string{"--give-up 2", "servers 2, 3 may have"}},
		"the silent one is given up": {own, []Member{voter(1, Blank), voter(2, Silent)}, []int64{2}, nil},
		"another one is given up": {own, []Member{voter(1, Blank), voter(2, Silent)}, []int64{1},
			[]string{"--give-up 2", "servers 2, 3 may have"}},
		"one has the same": {own, []Member{voter(1, Blank), holding(2, 4, 9)}, nil,
			[]string{"servers 2, 3 may have"}},
		"one is ahead": {own, []Member{voter(1, Blank), holding(2, 4, 10)}, nil,
			[]string{"later than this server's", "servers 2, 3"}},
		"one is in a later epoch": {own, []Member{voter(1, Blank), {ID: 2, Votes: true, State: Holding, Current: 5}},
			[]int64{1}, []string{"later than", "servers 2, 3"}},
		"the one ahead is given up": {own, []Member{voter(1, Blank), holding(2, 4, 10)}, []int64{2}, nil},
		"two of five, equal": {own, []Member{voter(1, Blank), holding(2, 4, 9), voter(4, Blank), voter(5, Blank)},
			nil, nil},
		"two of five, one ahead": {own, []Member{voter(1, Blank), holding(2, 4, 10), voter(4, Blank), voter(5, Blank)},
			nil, []string{"Begin there"}},
		"two of five, one silent": {own, []Member{voter(1, Blank), voter(2, Silent), voter(4, Blank), voter(5, Blank)},
			nil, []string{"--give-up 2"}},
		"another history": {own,
			[]Member{voter(1, Blank), of(holding(2, 4, 1), "other"), voter(4, Blank), voter(5, Blank)}, nil,
			[]string{"has another history"}},
		"an observer is ahead": {own, []Member{voter(1, Blank), voter(2, Blank), observing(holding(4, 4, 10))}, nil,
			[]string{"observer 4 has data up to"}},
		"an observer is behind": {own, []Member{voter(1, Blank), voter(2, Blank), observing(holding(4, 4, 8))},
			nil, nil},
		"an observer is silent": {own, []Member{voter(1, Blank), voter(2, Blank), observing(voter(4, Silent))}, nil,
			[]string{"--give-up 4"}},
		"begun on an observer": {observing(own),
			[]Member{voter(1, Blank), voter(2, Blank), voter(4, Blank)}, nil, nil},
		"no data here": {voter(3, Blank), []Member{voter(1, Blank), voter(2, Blank)}, nil,
			[]string{"begin on a server that has data"}},
		"this server is given up": {own, []Member{voter(1, Blank), voter(2, Blank)}, []int64{3},
			[]string{"--give-up 3 is this server"}},
		"a server that is not there": {own, []Member{voter(1, Blank), voter(2, Blank)}, []int64{7},
			[]string{"no such server"}},
		"all have data and no one serves": {own, []Member{holding(1, 4, 9), holding(2, 4, 9)}, nil,
			[]string{"servers 1, 2, 3 may have"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := 1
			for _, m := range tt.others {
				if m.Votes {
					n++
				}
			}
			s := Situation{Own: tt.own, Others: tt.others, GiveUp: tt.giveUp, Decides: majority(n)}
			requireProblems(t, tt.want, s.AgainstBegin())
		})
	}
}

func requireProblems(t *testing.T, want, got []string) {
	t.Helper()
	require.Len(t, got, len(want), strings.Join(got, "\n"))
	for i := range want {
		require.Contains(t, got[i], want[i])
	}
}

func TestWhatForbidsToJoinANewHistory(t *testing.T) {
	r := &Record{Server: 3, Voters: []int64{1, 2, 3}, Epoch: 1028, Current: 4, Last: 0x400000009,
		Ensemble: "old", Identity: "new"}
	begun := of(holding(3, 1028, 1), "new")
	for name, tt := range map[string]struct {
		own    Member
		others []Member
		giveUp []int64
		lost   []int64 // given up by the record
		want   []string
	}{
		"blank":                {own: voter(1, Blank), others: []Member{voter(2, Blank), begun}},
		"the third is stopped": {own: voter(1, Blank), others: []Member{voter(2, Silent), begun}},
		"the first is stopped": {own: voter(1, Blank), others: []Member{voter(2, Blank), voter(3, Silent)},
			want: []string{"Start it"}},
		"the first says nothing": {own: voter(1, Blank), others: []Member{voter(2, Blank), voter(3, Unknown)},
			want: []string{"Start it"}},
		"the first lost its disk": {own: voter(1, Blank), others: []Member{voter(2, Blank), voter(3, Blank)},
			giveUp: []int64{3}},
		"the first has the old history": {own: voter(1, Blank), others: []Member{voter(2, Blank), holding(3, 4, 9)},
			want: []string{"Start it"}},
		"the first has gone on": {own: voter(1, Blank),
			others: []Member{voter(2, Blank), of(holding(3, 1029, 7), "new")}, want: []string{"has gone on"}},
		"the second has gone on": {own: voter(1, Blank), others: []Member{of(holding(2, 1029, 7), "new"), begun},
			want: []string{"has gone on"}},
		"the second was restored": {own: voter(1, Blank),
			others: []Member{of(holding(2, 1028, 1), "new"), begun}},
		"the second was recovered, too": {own: voter(1, Blank),
			others: []Member{of(holding(2, 1028, 1), "newer"), begun}, want: []string{"another history"}},
		"that one is given up": {own: voter(1, Blank), others: []Member{of(holding(2, 1028, 1), "newer"), begun},
			giveUp: []int64{2}},
		"the second has come back": {own: voter(1, Blank), others: []Member{holding(2, 4, 10), begun},
			want: []string{"it has come back"}},
		"it was given up before": {own: voter(1, Blank), others: []Member{holding(2, 4, 10), begun},
			lost: []int64{2}},
		"it is not ahead":          {own: voter(1, Blank), others: []Member{holding(2, 4, 8), begun}},
		"data that the backup has": {own: holding(1, 4, 8), others: []Member{voter(2, Blank), begun}},
		"data that the backup has not": {own: holding(1, 4, 10), others: []Member{voter(2, Blank), begun},
			want: []string{"--give-up 1 sets aside"}},
		"the same, given up": {own: holding(1, 4, 10), others: []Member{voter(2, Blank), begun},
			giveUp: []int64{1}},
		"given up before is not enough": {own: holding(1, 4, 10), others: []Member{voter(2, Blank), begun},
			lost: []int64{1}, want: []string{"--give-up 1"}},
		"data of another history": {own: of(holding(1, 3, 1), "other"), others: []Member{voter(2, Blank), begun},
			want: []string{"--give-up 1"}},
		"one serves": {own: voter(1, Blank), others: []Member{voter(2, Serving), begun},
			want: []string{"nothing to recover"}},
		"other voters": {own: voter(1, Blank), others: []Member{voter(4, Blank), begun},
			want: []string{"servers 1, 2, 3, and the configuration has servers 1, 3, 4"}},
		"a server that is not there": {own: voter(1, Blank), others: []Member{voter(2, Blank), begun},
			giveUp: []int64{9}, want: []string{"no such server"}},
		"the backup of the own directory": {own: begun, others: []Member{voter(1, Blank), voter(2, Blank)},
			want: []string{"--give-up 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			record := *r
			record.GivenUp = tt.lost
			s := Situation{Own: tt.own, Others: tt.others, GiveUp: tt.giveUp, Decides: majority(3)}
			requireProblems(t, tt.want, s.AgainstJoin(&record))
		})
	}
}

func TestWhoHasToBeRestored(t *testing.T) {
	r := &Record{Identity: "new"}
	s := Situation{Own: holding(3, 4, 9), Others: []Member{holding(1, 4, 8), voter(2, Blank), voter(4, Silent),
		voter(5, Blank), observing(voter(6, Blank))}, Decides: majority(5)}
	require.Equal(t, []int64{2, 5}, s.Missing(r), "the others keep what they have")
	s.GiveUp, s.Others[1].State = []int64{4}, Silent
	require.Equal(t, []int64{4, 5}, s.Missing(r))
	s.Others[3] = of(holding(5, 1028, 1), "new")
	require.Equal(t, []int64{4}, s.Missing(r), "server 5 was restored before")
	s.Others[2] = of(holding(4, 1028, 1), "new")
	require.Empty(t, s.Missing(r))
	s = Situation{Own: observing(holding(3, 4, 9)), Others: []Member{voter(1, Blank), voter(2, Blank),
		voter(4, Blank), voter(5, Blank)}, Decides: majority(4)}
	require.Len(t, s.Missing(r), 3, "an observer does not count")
	s.Own.Votes = true
	weights := map[int64]int{1: 0, 2: 1, 3: 1, 4: 1, 5: 3}
	s.Decides = func(voters []int64) bool {
		sum := 0
		for _, id := range voters {
			sum += weights[id]
		}
		return sum > 3
	}
	require.Equal(t, []int64{5}, s.Missing(r), "server 1 has no weight, and 2 and 4 are too light")
}
