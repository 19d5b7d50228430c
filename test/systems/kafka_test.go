//go:build systems

package systems

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

var kafka = &system{
	entry: entry{
		Name: "kafka", Title: "Kafka",
		Did: "Three brokers. One producer with acks=all sends records all the time, topics are created and their " +
			"settings changed, and in the middle of the run the controller of Kafka is killed. At the end a group " +
			"of consumers reads everything.",
		Set: []string{
			"`zookeeper.session.timeout.ms` below the time between two failures (8 s here): a broker that died " +
				"is replaced when its session ends.",
		},
	},
	limit: 20 * time.Minute, memory: 900, run: runKafka,
}

const brokers = 3

func runKafka(x *run) {
	ports := cluster.FreePorts(x, brokers)
	var bootstrap []string
	all := make([]*process, brokers)
	for id := range brokers {
		bootstrap = append(bootstrap, fmt.Sprintf("127.0.0.1:%d", ports[id]))
		x.writeBroker(id, ports[id])
		all[id] = x.broker(id)
	}
	for id := range brokers {
		x.eventually("a broker registers", func() bool {
			_, err := x.get(fmt.Sprintf("/kafka/brokers/ids/%d", id))
			return err == nil
		})
	}
	before := x.controllerEpoch()
	x.compile("kafka/Job.java")
	job := x.java("job", 256, "Job", strings.Join(bootstrap, ","))
	x.drive(job, func() {
		id := -1
		x.eventually("a controller", func() bool { id = x.controller(); return id >= 0 })
		all[id].kill()
		x.eventually("another controller", func() bool { now := x.controller(); return now >= 0 && now != id })
		all[id] = x.broker(id)
	})
	x.felt("controllers that changed, besides the one that was killed", "%d", x.controllerEpoch()-before-1)
}

// writeBroker writes the settings of a broker.
func (x *run) writeBroker(id, port int) {
	text := fmt.Sprintf(`broker.id=%d
listeners=PLAINTEXT://127.0.0.1:%d
log.dirs=%s
zookeeper.connect=%s/kafka
zookeeper.session.timeout.ms=8000
zookeeper.connection.timeout.ms=60000
default.replication.factor=3
offsets.topic.replication.factor=3
offsets.topic.num.partitions=3
min.insync.replicas=2
num.network.threads=1
num.io.threads=2
background.threads=2
num.recovery.threads.per.data.dir=1
log.cleaner.dedupe.buffer.size=4194304
group.initial.rebalance.delay.ms=0
`, id, port, filepath.Join(x.dir, fmt.Sprintf("broker-%d", id)), x.connect())
	require.NoError(x, os.WriteFile(x.settings(id), []byte(text), 0o644))
}

func (x *run) settings(id int) string {
	return filepath.Join(x.dir, fmt.Sprintf("broker-%d.properties", id))
}

func (x *run) broker(id int) *process {
	return x.java(fmt.Sprintf("kafka-%d", id), 320, "kafka.Kafka", x.settings(id))
}

// controller is the broker that is Kafka's controller, -1 if there is none.
func (x *run) controller() int {
	var z struct{ BrokerID int }
	if text, err := x.get("/kafka/controller"); err != nil || json.Unmarshal([]byte(text), &z) != nil {
		return -1
	}
	return z.BrokerID
}

// controllerEpoch goes up by one with each controller.
func (x *run) controllerEpoch() (epoch int) {
	x.eventually("the epoch of the controller", func() bool {
		text, err := x.get("/kafka/controller_epoch")
		if err == nil {
			epoch, err = strconv.Atoi(text)
		}
		return err == nil
	})
	return epoch
}
