package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
	c, _, err := Parse(strings.NewReader(withSecrets), "zoo.cfg")
	require.NoError(t, err)
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
}

func TestPropertiesAreWhatWasSet(t *testing.T) {
	c, _, err := Parse(strings.NewReader(withSecrets), "zoo.cfg")
	require.NoError(t, err)
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
