//go:build systems

package systems

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

var spark = &system{
	entry: entry{
		Name: "spark", Title: "Spark",
		Did: "Two standalone Masters with high availability and two Workers. An application adds up numbers all the " +
			"time. In the middle of the run the leading Master is killed. A leader of the ensemble is killed 20 " +
			"seconds after the last one, but not before a Master leads; a Master that has ended is started again.",
		Set: []string{
			"`leaderServes=no` at the servers, as in this run: the leading Master ends itself when the server that " +
				"it is connected to dies, and with this setting the leader is not that server.",
		},
	},
	limit: 15 * time.Minute, every: 20 * time.Second, memory: 900, run: runSpark,
	settings: apart,
}

// standalone is a cluster of Spark.
type standalone struct {
	*run
	ports   []int // two of each Master: for Workers and applications, and for its page
	masters []*process
	ended   int // how many Masters have ended by themselves
}

func runSpark(x *run) {
	classes := x.compile("spark/Job.java")
	require.NoError(x, os.Mkdir(filepath.Join(x.dir, "home"), 0o755))
	require.NoError(x, os.Symlink(x.lib, filepath.Join(x.dir, "home/jars")))
	x.env = append(x.env, "SPARK_HOME="+filepath.Join(x.dir, "home"), // Workers start executors from there
		"SPARK_SCALA_VERSION=2.13", "SPARK_LOCAL_IP=127.0.0.1")
	s := &standalone{run: x, ports: cluster.FreePorts(x, 2*managers), masters: make([]*process, managers)}
	var all []string
	for i := range s.masters {
		all = append(all, fmt.Sprintf("127.0.0.1:%d", s.ports[2*i]))
		s.masters[i] = s.master(i)
	}
	url := "spark://" + strings.Join(all, ",")
	for i := range 2 {
		x.spark(fmt.Sprintf("worker-%d", i), 192, "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1",
			"--cores", "1", "--memory", "512M", "--work-dir", filepath.Join(x.dir, "work"), url)
	}
	x.eventually("a Master leads and has both Workers", func() bool { return s.whole() >= 0 })
	x.before = func() {
		s.ended += revive(s.masters, s.master)
		x.eventually("a Master leads and has both Workers", func() bool { return s.whole() >= 0 })
	}
	x.drive(x.spark("job", 512, "Job", url, classes), func() {
		killed := -1
		x.eventually("a Master leads", func() bool { killed = s.whole(); return killed >= 0 })
		s.masters[killed].kill()
		x.eventually("the other Master leads", func() bool { now := s.whole(); return now >= 0 && now != killed })
		s.masters[killed] = s.master(killed)
	})
	s.ended += revive(s.masters, s.master)
	x.felt("Masters that ended themselves", "%d in %d kills", s.ended, x.result.Kills)
}

// master starts a Master.
func (s *standalone) master(i int) *process {
	return s.spark(fmt.Sprintf("master-%d", i), 192, "org.apache.spark.deploy.master.Master",
		"--host", "127.0.0.1", "--port", fmt.Sprint(s.ports[2*i]), "--webui-port", fmt.Sprint(s.ports[2*i+1]))
}

// whole is the Master that leads and has both Workers, -1 if there is none.
func (s *standalone) whole() int {
	return slices.IndexFunc([]int{0, 1}, func(i int) bool {
		var state struct {
			Status       string
			AliveWorkers int
		}
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/json/", s.ports[2*i+1]))
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return json.NewDecoder(resp.Body).Decode(&state) == nil && state.Status == "ALIVE" && state.AliveWorkers == 2
	})
}

// spark starts a program of Spark, with a heap of so many MiB.
func (x *run) spark(name string, heap int, args ...string) *process {
	return x.java(name, heap, slices.Concat(opens(), []string{"--add-opens=java.base/sun.nio.cs=ALL-UNNAMED",
		"--add-opens=java.base/sun.security.action=ALL-UNNAMED", "--add-opens=java.base/sun.util.calendar=ALL-UNNAMED",
		"-Dspark.deploy.recoveryMode=ZOOKEEPER", "-Dspark.deploy.zookeeper.url=" + x.connect()}, args)...)
}
