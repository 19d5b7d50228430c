package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/must"
)

const withSecrets = "# a comment\r\n" +
	"dataDir=/d\n" +
	"zookeeper.ssl.keyStore.password = open\\\n" +
	"   sesame\n" +
	"ssl.keyStore.passwordPath=/p\n" +
	"  DigestAuthenticationProvider.superDigest super:abc\n" +
	"javax.net.ssl.trustStorePassword: x\n" +
	"jute.maxbuffer=4096\n" +
	"admin.serverPort=8081\n" +
	"authProvider.1=org.apache.zookeeper.server.auth.DigestAuthenticationProvider"

func TestMaskedTextHidesSecretsAndNothingElse(t *testing.T) {
	c, _ := must.Do2(Parse(strings.NewReader(withSecrets), "zoo.cfg"))(t)
	require.Equal(t, "# a comment\n"+
		"dataDir=/d\n"+
		"zookeeper.ssl.keyStore.password=***\n"+
		"ssl.keyStore.passwordPath=/p\n"+
		"DigestAuthenticationProvider.superDigest=***\n"+
		"javax.net.ssl.trustStorePassword=***\n"+
		"jute.maxbuffer=4096\n"+
		"admin.serverPort=8081\n"+
		"authProvider.1=org.apache.zookeeper.server.auth.DigestAuthenticationProvider\n", c.MaskedText())
	require.Empty(t, Default().MaskedText())

	c, _, err := Parse(strings.NewReader(" ## ssl.quorum.keyStore.password : former\n#ssl.trustStore.password=a=b\n"+
		"!clientPort=2181 # the password=secret\n# secret, as a.password is\ndataDir=/d"), "zoo.cfg")
	require.NoError(t, err)
	require.Equal(t, " ## ssl.quorum.keyStore.password=***\n#ssl.trustStore.password=***\n"+
		"!clientPort=2181 # the password=secret\n# secret, as a.password is\ndataDir=/d\n", c.MaskedText())
}

// What shows only when a setting is used is told with the place of the setting.
func TestErrorsAreAboutSettings(t *testing.T) {
	c, _, err := Parse(strings.NewReader("dataDir=/data\nssl.keyStore.location=a.p12\nssl.keyStore.password=secret\n"),
		"zoo.cfg")
	require.NoError(t, err)
	cause := errors.New("it is damaged")
	placed := c.About(cause, "ssl.trustStore.location", "ssl.keyStore.location", "dataDir")
	require.EqualError(t, placed, `zoo.cfg:2: ssl.keyStore.location = "a.p12": it is damaged`)
	require.ErrorIs(t, placed, cause)
	require.EqualError(t, c.About(cause, "ssl.keyStore.password"), "zoo.cfg:3: ssl.keyStore.password: it is damaged")
	require.Equal(t, cause, c.About(cause, "ssl.trustStore.location"), "it was not set")
	require.Equal(t, placed, c.About(placed, "dataDir"), "it has a place")
	require.NoError(t, c.About(nil, "dataDir"))
}

// A message about a port says where the port was chosen.
func TestSettingsAreNamedWithTheirPlace(t *testing.T) {
	text := "dataDir=/data\ninitLimit=5\nsyncLimit=2\nmyid=2\nclientPort=2181\nserver.1=a:1:2;2181\nserver.2=b:1:2\n"
	named := func(text, key string) string {
		c, _ := must.Do2(Parse(strings.NewReader(text), "zoo.cfg"))(t)
		return c.Named(key)
	}
	require.Equal(t, "clientPort in zoo.cfg:5", named(text, "clientPort"))
	require.Equal(t, "secureClientPort", named(text, "secureClientPort"), "nobody has it")
	require.Equal(t, "server.2 in zoo.cfg:7", named(text, "server.2"))
	require.Equal(t, "admin.serverPort", named(text, "admin.serverPort"), "it is the default")
	text = strings.NewReplacer("myid=2", "myid=1", "clientPort=2181\n", "").Replace(text)
	require.Equal(t, "clientPort of server.1 in zoo.cfg:5", named(text, "clientPort"))
	require.Equal(t, "secureClientPort", named(text, "secureClientPort"))
}

func TestPropertiesAreWhatWasSet(t *testing.T) {
	c, _ := must.Do2(Parse(strings.NewReader(withSecrets), "zoo.cfg"))(t)
	require.Equal(t, []Property{
		{"jute.maxbuffer", "4096"},
		{"zookeeper.DigestAuthenticationProvider.superDigest", "***"},
		{"zookeeper.admin.serverPort", "8081"},
		{"zookeeper.authProvider.1", "org.apache.zookeeper.server.auth.DigestAuthenticationProvider"},
		{"zookeeper.ssl.keyStore.password", "***"},
		{"zookeeper.ssl.keyStore.passwordPath", "/p"},
	}, c.Properties())
	require.True(t, c.Given("admin.serverPort"))
	require.False(t, c.Given("admin.serverAddress"))
	require.False(t, Default().Given("admin.serverPort"))
}

func TestEntriesNameEverySettingAndNoSecret(t *testing.T) {
	c, _ := must.Do2(Parse(strings.NewReader(withSecrets), "zoo.cfg"))(t)
	all := map[string]Entry{}
	for _, e := range c.Entries() {
		all[e.Name] = e
	}
	for name, want := range map[string]Entry{
		"jute.maxbuffer":                           {Value: "4096", Default: "1048575", Origin: "zoo.cfg:8"},
		"ssl.keyStore.password":                    {Value: "***", Origin: "zoo.cfg:3"},
		"ssl.trustStore.password":                  {},
		"DigestAuthenticationProvider.superDigest": {Value: "***", Origin: "zoo.cfg:6"},
		"admin.serverPort":                         {Value: "8081", Default: "8080", Origin: "zoo.cfg:9"},
		"tickTime":                                 {Value: "3s", Default: "3s"},
		"minSessionTimeout":                        {Value: "6s", Default: "6s"},
		"4lw.commands.whitelist":                   {Value: "srvr", Default: "srvr"},
		"warren.console.writes":                    {Value: "false", Default: "false"},
		"authProvider.1": {Value: "org.apache.zookeeper.server.auth.DigestAuthenticationProvider",
			Origin: "zoo.cfg:10"},
	} {
		want.Name = name
		require.Equal(t, want, all[name])
	}
	for _, s := range c.settings() {
		if s.show != nil {
			require.Contains(t, all, s.name())
		}
	}
	for _, e := range all {
		require.NotContains(t, e.Value, "sesame")
		require.NotContains(t, e.Value, "super:abc")
	}
}
