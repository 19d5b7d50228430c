package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hosts brings up what an operator has whose machines are zk1, zk2 and zk3: an ensemble that zk3 leads, with a super
// user, whose password is in super.txt.
const hosts = `
super=$(echo super:secret | warren digest)
echo super:secret > super.txt
for n in 1 2 3; do
    mkdir -p zk$n/data
    echo $n > zk$n/data/myid
    cat > zk$n/zoo.cfg <<END
dataDir=$PWD/zk$n/data
tickTime=500
initLimit=20
syncLimit=10
4lw.commands.whitelist=*
admin.serverAddress=127.0.0.1
admin.serverPort=808$n
admin.rateLimiterIntervalInMS=0
warren.top.enabled=true
DigestAuthenticationProvider.superDigest=$super
server.1=127.0.0.1:3181:4181;127.0.0.1:2181
server.2=127.0.0.1:3182:4182;127.0.0.1:2182
server.3=127.0.0.1:3183:4183;127.0.0.1:2183
END
done
start() { warren server zk$1/zoo.cfg 2>> zk$1/log & echo $! > zk$1/pid; }
stop() { kill $(cat zk$1/pid); wait $(cat zk$1/pid); }
healthy() { for m in 1 2 3; do warren health --wait 60s 127.0.0.1:218$m; done; }
systemctl() { # of the machine zk1
    [ "$*" = "restart warren" ] && stop 1 && start 1 && healthy
}
for n in 1 2 3; do start $n; done
healthy
for m in 1 2 3; do warren lead 3 -s 127.0.0.1:218$m --auth-file super.txt && break; done
warren shell -s 127.0.0.1:2181 create /a x
warren shell -s 127.0.0.1:2181 create -p /services/APPLICATION/10.0.0.1:20880
warren shell -s 127.0.0.1:2181 create -p /dubbo/INTERFACE/providers/dubbo
warren shell -s 127.0.0.1:2181 create -p /NAMESPACE/nodes/compute_nodes/online/proxy/10.0.0.1@3307
(echo 'create -e /worker x'; sleep 600) | warren shell -s 127.0.0.1:2181 &
until warren shell -s 127.0.0.1:2181 stat /worker; do sleep 0.1; done
session=$(warren shell -s 127.0.0.1:2181 stat /worker | sed -n 's/^ephemeralOwner = //p')
for value in 1 2 3; do warren shell -s 127.0.0.1:2181 set /a $value; done
`

// host is the name of one of them, or its client port.
var host = regexp.MustCompile(`\bzk([123])(:2181)?\b`)

// onHosts makes a block of a page, for the machine zk1, one that runs here.
func onHosts(text string) string {
	text = host.ReplaceAllString(text, "127.0.0.1:218$1")
	return strings.NewReplacer("/etc/warren/", "zk1/", ":8080", ":8081",
		"s-3fb60a91c2d4", `"$session"`).Replace(text)
}

// Blocks that are for machines with names do what the page says.
func TestPagesRunOnHosts(t *testing.T) {
	ran := 0
	for _, p := range readPages(t) {
		if len(p.hosted) == 0 {
			continue
		}
		ran++
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			blocks := []block{{0, "", hosts}}
			for _, b := range p.hosted {
				blocks = append(blocks, block{b.at, b.under, onHosts(b.text) + "healthy\n"})
			}
			out, err := runPage(t, page{name: p.name, files: p.files, blocks: blocks})
			require.NoError(t, err, "%s", out)
			t.Logf("%s", strings.TrimSpace(out))
		})
	}
	require.Greater(t, ran, 5)
}
