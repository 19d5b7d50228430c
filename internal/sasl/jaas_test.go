package sasl

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

const sampleJAAS = `
/* a comment
   over lines */
Server {
  org.apache.zookeeper.server.auth.DigestLoginModule required
    user_super="adminsecret" // the operator
    user_bob='bob\'s "secret"'
    user_eve=plain-1_$*;
};
QuorumLearner {
  org.apache.zookeeper.server.auth.DigestLoginModule Required
    username="zk"
    password="q\\uorum\t\101\n";
};
"Two Modules" {
  org.apache.zookeeper.server.auth.DigestLoginModule optional user_a="1";
  org.apache.zookeeper.server.auth.DigestLoginModule sufficient user_b="2" user_a="3";
};
Empty { };
Krb {
  com.sun.security.auth.module.Krb5LoginModule required
    useKeyTab=true keyTab="/etc/zk.keytab" principal="zookeeper/host@REALM";
};
Own { com.example.Login required; };
`

func TestJAAS(t *testing.T) {
	j := must.Do(ParseJAAS([]byte(sampleJAAS)))(t)
	require.Len(t, j, 6)
	for section, want := range map[string]map[string]string{
		"Server":      {"super": "adminsecret", "bob": `bob's "secret"`, "eve": "plain-1_$*"},
		"Two Modules": {"a": "3", "b": "2"},
		"Empty":       {},
	} {
		u := must.Do(j.Users(section))(t)
		require.Equal(t, Users(want), u)
	}
	user, password := must.Do2(j.Credentials("QuorumLearner"))(t)
	require.Equal(t, "zk", user)
	require.Equal(t, "q\\uorum\tA\n", password)

	require.ErrorIs(t, must.Err(j.Users("None")), ErrNoSection)
	require.ErrorIs(t, must.Err2(j.Credentials("None")), ErrNoSection)
	require.ErrorContains(t, must.Err(j.Users("Krb")), "Kerberos")
	require.ErrorContains(t, must.Err2(j.Credentials("Krb")), "Kerberos")
	k := must.Do(j.Kerberos("Krb"))(t)
	require.Equal(t, &Kerberos{Principal: "zookeeper/host@REALM", Keytab: "/etc/zk.keytab"}, k)
	k = must.Do(j.Kerberos("Server"))(t)
	require.Nil(t, k)
	require.ErrorIs(t, must.Err(j.Kerberos("None")), ErrNoSection)
	require.ErrorContains(t, must.Err(j.Users("Own")), "com.example.Login is not known")
	require.ErrorContains(t, must.Err2(j.Credentials("Server")), "no option username")
}

func TestUsersWith(t *testing.T) {
	u := bob.With("super", "x").With("bob", "other")
	for name, want := range map[string]string{"super": "x", "bob": "other", "日本": "秘密"} {
		got, ok := u[name]
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	require.Equal(t, "bobsecret", bob["bob"])
}

// Each of these files is refused, with the line, and what could be a password is not quoted.
func TestJAASRefuses(t *testing.T) {
	const secret = "s3cr3t"
	deep := strings.Repeat("A { M required; };\n", 1) + strings.Repeat("x", 3)
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"no brace":          {"Server " + secret, "line 1: expected '{'"},
		"no section name":   {"{ };", "line 1: expected the name of a section"},
		"no end":            {"A {\n M required\n a=\"" + secret + "\"", "line 3: expected an option or ';'"},
		"no semicolon":      {"A {\n M required a=b; }\nB", "line 3: expected ';' after the '}'"},
		"no flag":           {"A { M; };", "expected a flag"},
		"other flag":        {"A { M " + secret + " };", "expected required, requisite"},
		"no equals sign":    {"A { M required user_a \"" + secret + "\"; };", "expected '=' after an option"},
		"no value":          {"A { M required user_a=; };", "expected the value of an option"},
		"sign as value":     {"A { M required user_a=!" + secret + "; };", "expected the value"},
		"quote without end": {"A { M required user_a=\"" + secret, "expected the end of a quoted text"},
		"quote over lines": {"A { M required\nuser_a=\"" + secret + "\n\"; };",
			"line 2: expected the end of a quoted text on its line"},
		"section twice":      {"A { };\nA { };", "another name"},
		"property":           {"A { M required user_a=\"${" + secret + "}\"; };", "without ${...}"},
		"trailing word":      {deep, "line 2: expected '{'"},
		"name of no letters": {"\"\" { };", "the name of a section"},
		"name too long":      {strings.Repeat("a", identifierMax+1) + " { };", "the name of a section"},
		"too many modules":   {"A {" + strings.Repeat("M required;", modulesMax+1) + "};", "fewer login modules"},
		"too many sections":  {manySections(), "fewer sections"},
		"value too long": {"A { M required a=\"" + strings.Repeat("x", optionValueMax+1) + "\"; };",
			"expected the value"},
		"hash as comment":     {"# " + secret, "expected the name of a section"},
		"null byte":           {"\x00", ""},
		"backslash at end":    {`A { M required a="\`, "end of a quoted text"},
		"comment without end": {"A { /*", "line 1: expected"},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := ParseJAAS([]byte(c.text))
			if c.want == "" {
				require.NoError(t, err)
				require.Empty(t, j)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), secret)
		})
	}
	require.ErrorContains(t, must.Err(ParseJAAS(make([]byte, JAASBytesMax+1))), "larger than")
}

func manySections() string {
	var b strings.Builder
	for i := range sectionsMax + 1 {
		fmt.Fprintf(&b, "S%d { };\n", i)
	}
	return b.String()
}

func FuzzJAAS(f *testing.F) {
	f.Add([]byte(sampleJAAS))
	f.Add([]byte(`A { M required a="\777\0\`))
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := ParseJAAS(text)
		if err != nil {
			require.Contains(t, err.Error(), "sasl: JAAS file")
			return
		}
		for name := range j {
			_, _ = j.Users(name)
			_, _, _ = j.Credentials(name)
		}
	})
}

// What Krb5LoginModule needs to log in.
func TestKerberosSections(t *testing.T) {
	section := func(options string) (*Kerberos, error) {
		j, err := ParseJAAS([]byte("S { com.sun.security.auth.module.Krb5LoginModule required " + options + "; };"))
		require.NoError(t, err)
		return j.Kerberos("S")
	}
	k, err := section(`useKeyTab=true keyTab="FILE:/k" principal="zookeeper/_HOST" storeKey=true doNotPrompt=true`)
	require.NoError(t, err)
	require.Equal(t, &Kerberos{Principal: "zookeeper/_HOST", Keytab: "/k"}, k)
	k = must.Do(section(`useTicketCache=true`))(t)
	require.Equal(t, &Kerberos{}, k)
	k = must.Do(section(`useTicketCache=true ticketCache="/c" principal="bob@A" keyTab="/unused"`))(t)
	require.Equal(t, &Kerberos{Principal: "bob@A", TicketCache: "/c"}, k)
	for want, options := range map[string]string{
		"needs the options keyTab and principal": "useKeyTab=true keyTab=\"/k\"",
		"nothing to log in with":                 "keyTab=\"/k\" principal=\"a/b@C\"",
	} {
		require.ErrorContains(t, must.Err(section(options)), want)
	}
	_, err = section("useKeyTab=true principal=\"a/b@C\"")
	require.ErrorContains(t, err, "needs the options keyTab and principal")
}
