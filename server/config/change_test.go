package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

const lines3 = "server.1=a:1:2:participant;0.0.0.0:2181\nserver.2=b:1:2:participant;0.0.0.0:2181\n" +
	"server.3=c:1:2:observer;0.0.0.0:2181"

func members(t *testing.T, text string) *Quorum {
	t.Helper()
	q := must.Do(ParseMembers([]byte(text)))(t)
	return q
}

// The text of a configuration that ZooKeeper 3.8.0 has sent, and others that mean the same. Source:
// quorum-protocol 16 vector 3a.
func TestMembersAreRead(t *testing.T) {
	const sent = "server.1=127.0.0.1:23011:23021:participant\nserver.2=127.0.0.1:23012:23022:participant\n" +
		"server.3=127.0.0.1:23013:23023:participant\nversion=10000001b"
	q := members(t, sent)
	require.EqualValues(t, 0x10000001b, q.ConfigVersion)
	require.Equal(t, sent, q.Text()+"\nversion=10000001b")
	for text, want := range map[string]string{
		"server.2=b:1:2;2181\nserver.1=a:1:2": "server.1=a:1:2:participant\n" +
			"server.2=b:1:2:participant;0.0.0.0:2181",
		"server.1 = a:1:2:OBSERVER ; 10.0.0.1:2181;2281 ": "server.1=a:1:2:observer;10.0.0.1:2181;0.0.0.0:2281",
		"server.1=[::1]:1:2|b:1:2;;2281": "server.1=[::1]:1:2:participant|" +
			"b:1:2:participant;;0.0.0.0:2281",
		"group.1=1:2\nweight.2=3\nserver.1=a:1:2\nserver.2=b:1:2\n": "server.1=a:1:2:participant\n" +
			"server.2=b:1:2:participant\ngroup.1=1:2\nweight.1=1\nweight.2=3",
		"# nobody\n\nversion=0": "",
	} {
		require.Equal(t, want, members(t, text).Text(), text)
		require.Equal(t, want, members(t, members(t, text).Text()).Text())
	}
}

func TestWhatIsNoConfiguration(t *testing.T) {
	for text, want := range map[string]string{
		"server.1=a:1":                    "the election port is missing",
		"server.1=a:1:2\nserver.1=a:1:3":  "line 2: server.1 = \"a:1:3\": server 1 is given twice",
		"server.x=a:1:2":                  "server.x",
		"server.-1=a:1:2":                 "the id must be at least 0",
		"tickTime=2000":                   "Unrecognised parameter: tickTime",
		"version=x":                       "version",
		"version=-1":                      "must be at least 0",
		"server.1=a:1:2\\u12":             "malformed \\uxxxx encoding",
		strings.Repeat("#", 1<<20) + "..": "bytes, at most",
	} {
		require.ErrorContains(t, must.Err(ParseMembers([]byte(text))), want)
	}
}

// Source: quorum-protocol 11.4 step 4.
func TestMembersAreChanged(t *testing.T) {
	for name, tc := range map[string]struct{ join, leave, want, fault string }{
		"nothing": {want: lines3},
		"one leaves": {leave: "2",
			want: "server.1=a:1:2:participant;0.0.0.0:2181\nserver.3=c:1:2:observer;0.0.0.0:2181"},
		"two leave":             {leave: " 1 ,2,", want: "server.3=c:1:2:observer;0.0.0.0:2181"},
		"one that is not there": {leave: "9", want: lines3},
		"one joins": {join: "server.4=d:1:2;2181",
			want: lines3 + "\nserver.4=d:1:2:participant;0.0.0.0:2181"},
		"it votes now": {join: "server.3=c:1:2;2181", leave: "1,2",
			want: "server.3=c:1:2:participant;0.0.0.0:2181"},
		"it moves": {join: "server.3 = e:1:2:observer;e:5", leave: "1,2",
			want: "server.3=e:1:2:observer;e:5"},
		"a place is taken over": {join: "server.4=a:1:2;2181", leave: "1,2",
			want: "server.3=c:1:2:observer;0.0.0.0:2181\nserver.4=a:1:2:participant;0.0.0.0:2181"},
		"no id":            {leave: "x", fault: "x is no server id"},
		"no line":          {join: "server.4", fault: "Wrong format of server string: server.4"},
		"two lines":        {join: "server.4=d:1:2=e", fault: "Wrong format"},
		"no election port": {join: "server.4=d:1;2181", fault: "the election port is missing"},
		"no client port": {join: "server.4=d:1:2",
			fault: "each server should have 3 ports specified"},
		"no role":      {join: "server.4=d:1:2:king;2181", fault: "\"king\" is no kind of server"},
		"a port twice": {join: "server.4=d:1:1;2181", fault: "must differ"},
		"a quorum port that is taken": {join: "server.4=b:2:9;2181",
			fault: "b:2 of server.4 conflicts b:2 of server.2"},
		"an election port that clients use": {join: "server.4=0.0.0.0:9:2181;2182",
			fault: "0.0.0.0:2181 of server.4 conflicts 0.0.0.0:2181 of server.1"},
		"a client port at the address of a quorum port": {join: "server.4=d:1:2;b:2",
			fault: "b:2 of server.4 conflicts b:2 of server.2"},
		"a client port that is taken": {join: "server.4=d:1:2;b:9,server.5=e:1:2;b:9",
			fault: "b:9 of server.5 conflicts b:9 of server.4"},
		"client ports at addresses of every machine": {
			join: "server.3=c:1:2;127.0.0.1:9,server.4=d:1:2;127.0.0.1:9,server.5=e:1:2;localhost:9", leave: "1,2",
			want: "server.3=c:1:2:participant;127.0.0.1:9\nserver.4=d:1:2:participant;127.0.0.1:9\n" +
				"server.5=e:1:2:participant;localhost:9"},
	} {
		q := members(t, lines3)
		next, err := q.Changed(tc.join, tc.leave)
		if tc.fault != "" {
			require.ErrorContains(t, err, tc.fault, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, tc.want, next.Text(), name)
		require.Equal(t, lines3, q.Text(), "the old one stays: %s", name)
	}
	_, err := members(t, lines3+"\ngroup.1=1:2:3").Changed("", "1")
	require.ErrorContains(t, err, "non-majority quorum system")
}

func TestMembersAreReplaced(t *testing.T) {
	q := must.Do(Replaced("server.1=a:1:2;2181,server.2=b:1:2;2181\ngroup.1=1:2"))(t)
	require.True(t, q.Hierarchical)
	require.Len(t, q.Members, 2)
	require.ErrorContains(t, must.Err(Replaced("server.1=a:1:2,syncLimit=5")), "Unrecognised parameter: syncLimit")
}

// Source: quorum-protocol 11.4 step 5.
func TestWhatIsPermitted(t *testing.T) {
	for _, tc := range []struct {
		standalone, many bool
		next, fault      string
	}{
		{true, false, lines3, ""},
		{true, false, "server.1=a:1:2", "at least 2 participants"},
		{true, false, "server.1=a:1:2\nserver.2=b:1:2:observer", "at least 2 participants"},
		{false, false, "server.1=a:1:2", ""},
		{false, false, "server.1=a:1:2:observer", "at least 1 participants"},
		{false, false, "", "at least 1 participants"},
		{false, false, "server.1=a:1:2|b:1:2", "Multiple address feature is disabled"},
		{false, true, "server.1=a:1:2|b:1:2", ""},
	} {
		own := Quorum{StandaloneEnabled: tc.standalone, MultiAddressEnabled: tc.many}
		err := own.Permits(members(t, tc.next))
		if tc.fault == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, tc.fault)
		}
	}
}

func FuzzMembers(f *testing.F) {
	f.Add([]byte(lines3 + "\nversion=100000005"))
	f.Add([]byte("server.1=[::1]:1:2|b:1:2:observer;;2281\ngroup.1=1\nweight.1=0"))
	f.Fuzz(func(t *testing.T, text []byte) {
		q, err := ParseMembers(text)
		if err != nil {
			return
		}
		again := must.Do(ParseMembers([]byte(q.Text())))(t)
		require.Equal(t, q.Text(), again.Text())
		if next, err := q.Changed("server.77=new:1:2;3", "1"); err == nil {
			require.NotNil(t, next.Member(77))
			require.Nil(t, next.Member(1))
		}
	})
}
