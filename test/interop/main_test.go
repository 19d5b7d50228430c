package interop

import (
	"flag"
	"os"
	"testing"

	"github.com/seed94657493/warren/test/cluster"
)

// target is which server the tests with client libraries and programs use.
var target = flag.String("interop.target", "warren", "server that client programs use: warren or zookeeper")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(cluster.Main(m))
}
