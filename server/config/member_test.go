package config

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

func TestParseMember(t *testing.T) {
	address := func(host string) []PeerAddress { return []PeerAddress{{host, 2888, 3888}} }
	none := HostPort{Port: PortUnset}
	tests := []struct {
		text string
		want Member
		form string // canonical form; empty if equal to text
	}{
		{"h:2888:3888", Member{1, address("h"), Participant, none, none, 1}, "h:2888:3888:participant"},
		{"h:2888:3888:observer", Member{1, address("h"), Observer, none, none, 1}, ""},
		{"h:2888:3888:PARTICIPANT;2181", Member{1, address("h"), Participant, HostPort{"0.0.0.0", 2181}, none, 1},
			"h:2888:3888:participant;0.0.0.0:2181"},
		{"h:2888:3888:participant;127.0.0.1:2181",
			Member{1, address("h"), Participant, HostPort{"127.0.0.1", 2181}, none, 1}, ""},
		{"h:2888:3888;2181;2281",
			Member{1, address("h"), Participant, HostPort{"0.0.0.0", 2181}, HostPort{"0.0.0.0", 2281}, 1},
			"h:2888:3888:participant;0.0.0.0:2181;0.0.0.0:2281"},
		{"h:2888:3888;;s:2281", Member{1, address("h"), Participant, none, HostPort{"s", 2281}, 1},
			"h:2888:3888:participant;;s:2281"},
		{"[::1]:2888:3888;[::]:2181", Member{1, address("::1"), Participant, HostPort{"::", 2181}, none, 1},
			"[::1]:2888:3888:participant;[::]:2181"},
		{"a:1:2|b:3:4", Member{1, []PeerAddress{{"a", 1, 2}, {"b", 3, 4}}, Participant, none, none, 1},
			"a:1:2:participant|b:3:4:participant"},
		{"a:1:2:observer|[fe80::2]:3:4:observer",
			Member{1, []PeerAddress{{"a", 1, 2}, {"fe80::2", 3, 4}}, Observer, none, none, 1}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got := must.Do(parseMember(1, tt.text))(t)
			require.Equal(t, tt.want, got)
			form := tt.form
			if form == "" {
				form = tt.text
			}
			require.Equal(t, form, got.String())
			require.Equal(t, got, must.Do(parseMember(1, form))(t))
		})
	}
}

// Empty parts at the end mean nothing, and hosts may have zones. ZooKeeper 3.8 starts with each of these lines.
func TestFormsOfMembers(t *testing.T) {
	for text, form := range map[string]string{
		"h:1:2;": "h:1:2:participant", "h:1:2;;;": "h:1:2:participant", "h:1:2|": "h:1:2:participant",
		"h:1:2:": "h:1:2:participant", "h:1:2;3;": "h:1:2:participant;0.0.0.0:3",
		"[::1]:1:2;": "[::1]:1:2:participant", "[fe80::1%eth0]:1:2": "[fe80::1%eth0]:1:2:participant",
		"h:1:2;[fe80::1%eth0]:3":  "h:1:2:participant;[fe80::1%eth0]:3",
		"h:1:2|[::1]:3:4|;[::]:5": "h:1:2:participant|[::1]:3:4:participant;[::]:5",
	} {
		m, err := parseMember(1, text)
		require.NoError(t, err, text)
		require.Equal(t, form, m.String(), text)
	}
}

// Every setting that is a host is read alike, and alike in a file, by a flag and by a variable. ZooKeeper takes all of
// these, but for a port, which it refuses.
func TestFormsOfHosts(t *testing.T) {
	keys := map[string]func(*Config) string{
		"clientPortAddress":        func(c *Config) string { return c.ClientPortAddress },
		"secureClientPortAddress":  func(c *Config) string { return c.SecureClientPortAddress },
		"admin.serverAddress":      func(c *Config) string { return c.Admin.Address },
		"metricsProvider.httpHost": func(c *Config) string { return c.Metrics.Host },
	}
	const ports = "dataDir=/d\nclientPort=2181\nsecureClientPort=2281\nssl.keyStore.location=/k.pem\n"
	for key, get := range keys {
		for text, host := range map[string]string{
			"[::1]": "::1", "[::]": "::", "::1": "::1", "fe80::1%eth0": "fe80::1%eth0", "zk1": "zk1",
			"[fe80::1%eth0]": "fe80::1%eth0", "10.0.0.1": "10.0.0.1", "": "localhost",
		} {
			c, _, err := parse(ports + key + "=" + text)
			require.NoError(t, err, "%s=%s", key, text)
			require.Equal(t, host, get(c), "%s=%s", key, text)
		}
		for _, text := range []string{"[localhost]", "[127.0.0.1]", "127.0.0.1:2181", "[::1]:2181", "[::1", "zk1:"} {
			_, _, err := parse(ports + key + "=" + text)
			require.ErrorContains(t, err, "is neither a host nor host:port", "%s=%s", key, text)
		}
		l := newLoader(base())
		l.readFile([]byte(ports), "zoo.cfg")
		l.readEnvironment([]string{EnvName(key) + "=[::1]"})
		c, _ := must.Do2(l.finish("", true))(t)
		require.Equal(t, "::1", get(c), EnvName(key))
		l = newLoader(base())
		l.readFile([]byte(ports), "zoo.cfg")
		l.readCommandLine([]string{key + "=[::]"})
		c, _ = must.Do2(l.finish("", true))(t)
		require.Equal(t, "::", get(c), "-D"+key)
	}
}

func TestMalformedMember(t *testing.T) {
	const form = "must have the form HOST:PORT:ELECTION_PORT"
	for text, rule := range map[string]string{
		"": form, "h": form, ":1:2": form, "h:1:2:observer:x": form, "h:1:2;1:2:3": form, "h:1:2;;;1": form,
		"h::2": form, "[::1:1:2": form, "[h]:1:2": form, "[::1]x:1:2": form, "::1:1:2": form, "|h:1:2": form,
		";": form, "|": form, "h:1": "the election port is missing",
		"h:x:2":                `the port "x" of h is not`,
		"h:1:x":                `the port "x" of h is not`,
		"h:1:2;x":              `the port "x" of 0.0.0.0 is not`,
		"h:1:99999999999999":   `the port "99999999999999" of h is not`,
		"h:1:70000":            `the port "70000" of h is not a whole number from 0 to 65535`,
		"h:-1:2":               `the port "-1" of h is not`,
		"h:1:1":                "the two ports of a server must differ",
		"h:1:2:leader":         "\"leader\" is no kind of server",
		"h:1:2:observer|i:3:4": "Multiple addresses should have similar roles: observer vs participant",
	} {
		require.ErrorContains(t, must.Err(parseMember(7, text)), rule, "%q", text)
	}
}

func TestMemberKeys(t *testing.T) {
	for _, key := range []string{"server.1", "server.x", "group.1", "groupies", "weight", "weight.2"} {
		require.True(t, isMemberKey(key), key)
	}
	for _, key := range []string{"serverCnxnFactory", "server", "Server.1", "grou"} {
		require.False(t, isMemberKey(key), key)
	}
	for key, rule := range map[string]string{
		"server.x": `"x" is not a whole number`, "server.": "the id is missing, as in server.1",
		"server.-1": "the id must be at least 0", "server.99999999999999999999": "is too large or too small",
	} {
		require.ErrorContains(t, must.Err(memberID(key)), rule, key)
	}
}

func TestGroupsAndWeights(t *testing.T) {
	c, warnings := must.Do2(parse("weight.2=5\ngroup.2=3:4\ngroup.1=1:2\nserver.10=a:1:2:observer\nserver.2=b:1:2\n" +
		"server.1=c:1:2\nserver.3=d:1:2\nserver.4=e:1:2\ninitLimit=1\nsyncLimit=1\nweight.9=3"))(t)
	require.Equal(t, "Non-optimal configuration, consider an odd number of servers.\n", warningText(warnings))
	require.True(t, c.Hierarchical)
	require.Equal(t, []Group{{1, []int64{1, 2}}, {2, []int64{3, 4}}}, c.Groups)
	require.Equal(t, []string{
		"server.1=c:1:2:participant", "server.2=b:1:2:participant", "server.3=d:1:2:participant",
		"server.4=e:1:2:participant", "server.10=a:1:2:observer", "group.1=1:2", "group.2=3:4",
		"weight.1=1", "weight.2=5", "weight.3=1", "weight.4=1", "weight.10=1",
	}, c.Lines())
	require.Nil(t, c.Member(9))
}

func TestClientAddress(t *testing.T) {
	for line, want := range map[string]string{
		"zk1:2888:3888":                      "zk1:2182",
		"zk1:2888:3888;2181":                 "zk1:2181",
		"zk1:2888:3888;0.0.0.0:2181":         "zk1:2181",
		"[fd00::1]:2888:3888;[::]:2181":      "[fd00::1]:2181",
		"10.0.0.1:2888:3888;10.1.0.1:2181":   "10.1.0.1:2181",
		"zk1:2888:3888;127.0.0.1:2181":       "127.0.0.1:2181",
		"localhost:2888:3888;127.0.0.1:2181": "127.0.0.1:2181",
		"127.0.0.1:2888:3888;0.0.0.0:2181":   "127.0.0.1:2181",
		"zk1:2888:3888;;2281":                "zk1:2182",
	} {
		q := must.Do(ParseMembers([]byte("server.1=" + line)))(t)
		require.Equal(t, want, q.Members[0].ClientAddress(2182), line)
	}
	m := Member{Addresses: []PeerAddress{{Host: "zk1"}}, Client: HostPort{Port: PortUnset}}
	require.Empty(t, m.ClientAddress(PortUnset))
	m.Client.Port = 2181
	require.Equal(t, "zk1:2181", m.ClientAddress(PortUnset))
}
