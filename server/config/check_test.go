package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheck says what ZooKeeper would read otherwise, and nothing about what it reads alike.
func TestCheck(t *testing.T) {
	const netty = "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n"
	for _, tt := range []struct {
		file string
		set  []string
		env  []string
		want []string // line:key: begin of the text
	}{
		{file: "snapCount=5\nzookeeper.snapCount=5\ntickTime=2000\n4lw.commands.whitelist=*\n"},
		{file: "jute.maxbuffer=4194304\n",
			want: []string{"1:jute.maxbuffer: ZooKeeper reads it from -Djute.maxbuffer only"}},
		{file: "fsync.warningthresholdms=20\n"},
		{file: "zookeeper.tickTime=500\n",
			want: []string{"1:zookeeper.tickTime: ZooKeeper reads it without the prefix only"}},
		{file: "requestThrottleLimit=5\n",
			want: []string{"1:requestThrottleLimit: ZooKeeper's documentation has this name, its code reads " +
				"request_throttle_max_requests"}},
		{file: "# c\nfoo=1\n", want: []string{"2:foo: ZooKeeper sets the system property zookeeper.foo"}},
		{file: "warren.logLevel=warn\nmyid=3\n",
			want: []string{"1:warren.logLevel: ZooKeeper does not know it", "2:myid: ZooKeeper does not know it"}},
		{file: "tickTime=0x10\n", want: []string{"1:tickTime: ZooKeeper reads decimal numbers only"}},
		{file: "autopurge.purgeInterval=30m\n", want: []string{"1:autopurge.purgeInterval: ZooKeeper before 3.10"}},
		{set: []string{"tickTime=700"}, want: []string{"0:tickTime: ZooKeeper reads it from the file only"}},
		{env: []string{"JVMFLAGS=-Djute.maxbuffer=5000"}},
		{file: netty + "secureClientPort=5\nssl.keyStore.location=a.pem\n"},
		{file: "secureClientPort=5\nssl.keyStore.location=a.pem\n",
			want: []string{"0:secureClientPort: ZooKeeper needs serverCnxnFactory"}},
		{file: "authProvider.1=x\njvm.pause.monitor=true\n"},
	} {
		text := tt.file + "dataDir=DIR\nclientPort=2181\n"
		if !strings.Contains(text, "purgeInterval") {
			text += "autopurge.purgeInterval=1\n"
		}
		r := Check(write(t, "zoo.cfg", text), tt.set, tt.env)
		require.Empty(t, r.Problems, text)
		require.NotNil(t, r.Config)
		require.Len(t, r.Differences, len(tt.want), "%s: %v", text, r.Differences)
		for i, d := range r.Differences {
			got := fmt.Sprintf("%d:%s: %s", d.Line, d.Key, d.Text)
			require.True(t, strings.HasPrefix(got, tt.want[i]), "%q is not %q", got, tt.want[i])
		}
	}

	r := Check(write(t, "zoo.cfg", "dataDir=DIR\nclientPort=x\ntickTime=2000 # ms\nfoo=1\n"), nil, nil)
	require.Nil(t, r.Config)
	require.Len(t, r.Problems, 2)
	require.Equal(t, 3, r.Warnings[0].Line)
	require.Contains(t, r.Warnings[0].Text, "no comments behind a value")
	require.Len(t, r.Differences, 2, "the unknown key and the purge that is off")

	r = Check("/nowhere/zoo.cfg", nil, nil)
	require.Equal(t, ExitInvalid, r.Problems.ExitCode())
}
