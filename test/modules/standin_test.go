package modules

import (
	"flag"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
)

var useNetwork = flag.Bool("modules.network", false,
	"build programs that import go-zookeeper by way of Go kit, Kratos and Valkeyrie, which the network must have")

// client/zk stands in for go-zookeeper, in a program and in what it depends on, by one line in the program's go.mod.
// The programs use a server as those that go-zookeeper is part of do.
func TestStandIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		requires []string // besides go-zookeeper
		prints   string
	}{
		{"plain", nil, "EventNodeCreated\ntrue\n"},
		{"kit", []string{"github.com/go-kit/kit v0.13.0", "github.com/go-kit/log v0.2.0"}, "[]\n[10.0.0.1:80]\n"},
		{"kratos", []string{
			"github.com/go-kratos/kratos/contrib/registry/zookeeper/v2 v2.0.0-20241105072421-f8b97f675b32",
			"github.com/go-kratos/kratos/v2 v2.8.2",
		}, "1 [http://10.0.0.1:80]\n1\n0\n"},
		{"valkeyrie", []string{"github.com/kvtools/valkeyrie v1.0.0", "github.com/kvtools/zookeeper v1.0.2"},
			"one\ntrue\n1 two\ndone\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var others []string
			if c.requires != nil {
				if !*useNetwork {
					t.Skip("-modules.network is not given")
				}
				setting := must.Do(exec.Command("go", "env", "GOPROXY").Output())(t)
				others = append(others, localModules(t), strings.TrimSpace(string(setting)))
			}
			text := must.ReadFile(t, filepath.Join("testdata", c.name, "main.go"))
			p := newProgram(t, string(text), others...)
			requires := append([]string{"github.com/go-zookeeper/zk v1.0.4"}, c.requires...)
			p.write("go.mod", "module program.test\n\ngo 1.26.0\n\n"+
				"require (\n\t"+strings.Join(requires, "\n\t")+"\n)\n\n"+
				"replace github.com/go-zookeeper/zk => "+warren+"/client/zk "+version+"\n")
			p.run("go", "mod", "tidy")
			p.run("go", "build", "-trimpath", "-o", filepath.Join(p.dir, "program"))
			replaced := p.run("go", "list", "-m", "-f", "{{.Replace}}", "github.com/go-zookeeper/zk")
			require.Equal(t, warren+"/client/zk "+version+"\n", replaced)
			p.run("go", "vet", "-trimpath", "github.com/go-zookeeper/zk")

			server := embed.Start(t, embed.Options{})
			require.Equal(t, c.prints, p.run(filepath.Join(p.dir, "program"), server.Addr(1)))
		})
	}
}
