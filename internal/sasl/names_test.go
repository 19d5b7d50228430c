package sasl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/kerberos"
	"github.com/seed94657493/warren/test/must"
)

// The names that ZooKeeper's KerberosName gives; test/interop compares these with it.
func TestNames(t *testing.T) {
	for _, tt := range []struct{ rules, principal, want string }{
		{"", "bob@EXAMPLE.COM", "bob@EXAMPLE.COM"},
		{"DEFAULT", "zookeeper/zk1@EXAMPLE.COM", "zookeeper/zk1@EXAMPLE.COM"},
		{"DEFAULT", "bob@OTHER", errNoUser.Error()},
		{"DEFAULT", "a/b/c@EXAMPLE.COM", errNoUser.Error()},
		{"RULE:[1:$1] DEFAULT", "bob@OTHER", "bob@OTHER"},
		{"RULE:[1:$1.$0](.*\\.OTHER)s/\\..*// DEFAULT", "bob@OTHER", "bob@OTHER"},
		{"RULE:[2:$2](zk.*)\nDEFAULT", "zookeeper/zk1@OTHER", "zk1/zk1@OTHER"},
		{"RULE:[2:$1@$0](zookeeper@EXAMPLE.COM)s/.*/zk/", "zookeeper/zk1@EXAMPLE.COM", "zk/zk1@EXAMPLE.COM"},
		{"RULE:[1:$1](b.b)s/b/x/", "bob@EXAMPLE.COM", "xob@EXAMPLE.COM"},
		{"RULE:[1:$1](b.b)s/b/x/g", "bob@EXAMPLE.COM", "xox@EXAMPLE.COM"},
		{"RULE:[1:$1](bo)DEFAULT", "bob@EXAMPLE.COM", "bob@EXAMPLE.COM"},
		{"RULE:[1:$1](bo)", "bob@EXAMPLE.COM", errNoUser.Error()},
		{"RULE:[1:$1]s/(.)(.)(.)/$3$2$11/", "bob@EXAMPLE.COM", "bob1@EXAMPLE.COM"},
		{`RULE:[1:$1]s/o/\$1\\/`, "bob@EXAMPLE.COM", `b$1\b@EXAMPLE.COM`},
		{"RULE:[1:$1@$0]", "bob@EXAMPLE.COM", errNotName.Error()},
		{"RULE:[1:$1]s/.*//", "bob@EXAMPLE.COM", errNotName.Error()},
		{"RULE:[2:$1]DEFAULT", "bob@EXAMPLE.COM", "bob@EXAMPLE.COM"},
	} {
		n, err := NewNames(tt.rules, "EXAMPLE.COM", false, false)
		require.NoError(t, err, tt.rules)
		p := must.Do(kerberos.ParsePrincipal(tt.principal))(t)
		got, err := n.User(p)
		if strings.HasPrefix(tt.want, "sasl: ") {
			require.ErrorContains(t, err, tt.want, tt.rules)
			require.Empty(t, got)
			continue
		}
		require.NoError(t, err, tt.rules)
		require.Equal(t, tt.want, got, tt.rules)
	}
}

func TestNamesWithoutHostAndRealm(t *testing.T) {
	p := kerberos.Principal{Components: []string{"zookeeper", "zk1"}, Realm: "A"}
	for want, cut := range map[string][2]bool{
		"zookeeper/zk1@A": {}, "zookeeper@A": {true, false}, "zookeeper/zk1": {false, true}, "zookeeper": {true, true},
	} {
		n := must.Do(NewNames("", "A", cut[0], cut[1]))(t)
		require.Equal(t, want, must.Do(n.User(p))(t))
	}
}

func TestWrongRules(t *testing.T) {
	for _, rules := range []string{"NONE", "RULE:", "RULE:[1", "RULE:[:$1]", "RULE:[0:$1]", "RULE:[3:$1]",
		"RULE:[1:$2]", "RULE:[1:$]", "RULE:[1:$1](", "RULE:[1:$1](()", "RULE:[1:$1]s/a/b", "RULE:[1:$1]s/(/b/",
		"RULE:[1:$1](?=x)", "RULE:[1:$1]s/a/b/x", "DEFAULT x", "RULE:[1:$1]s/a/b/L"} {
		require.Error(t, must.Err(NewNames(rules, "A", false, false)), rules)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("RULE:[2:$1@$0](zookeeper@.*)s/(z)oo/$1k/g DEFAULT", "zookeeper/zk1@A")
	f.Fuzz(func(t *testing.T, rules, principal string) {
		n, err := NewNames(rules, "A", true, true)
		if err != nil {
			return
		}
		p, err := kerberos.ParsePrincipal(principal)
		if err != nil {
			return
		}
		if name, err := n.User(p); err == nil && (name == "" || strings.ContainsAny(name, "/@")) {
			t.Fatalf("%q", name)
		}
	})
}
