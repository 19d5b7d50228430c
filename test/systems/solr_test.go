//go:build systems

package systems

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
)

var solr = &system{
	entry: entry{
		Name: "solr", Title: "Solr",
		Did: "Two nodes with a collection of two shards with two replicas each. Documents are added all the time, " +
			"and in the middle of the run the node that leads the first shard is killed and started again.",
		Set: []string{
			"`zkClientTimeout` below the time between two failures (8 s here): a node that died is known to be dead " +
				"when its session ends.",
			"Batches wait from the death of a node that leads a shard until its session has ended and the other " +
				"replica leads. They don't wait for a node that leads none.",
		},
	},
	limit: 12 * time.Minute, memory: 1100, run: runSolr,
}

func runSolr(x *run) {
	x.compile("solr/Node.java", "solr/Job.java")
	x.write("configset/schema.xml", `<schema name="documents" version="1.6">
<uniqueKey>id</uniqueKey>
<fieldType name="string" class="solr.StrField"/>
<fieldType name="long" class="solr.LongPointField" docValues="true"/>
<field name="id" type="string" required="true" docValues="true"/>
<field name="_version_" type="long" stored="false" indexed="false"/>
<field name="square_l" type="long" stored="true"/>
</schema>
`)
	x.write("configset/solrconfig.xml", `<config>
<luceneMatchVersion>9.12</luceneMatchVersion>
<schemaFactory class="ClassicIndexSchemaFactory"/>
<updateHandler class="solr.DirectUpdateHandler2"><updateLog/></updateHandler>
<requestHandler name="/select" class="solr.SearchHandler"/>
</config>
`)
	ports := cluster.FreePorts(x, 2)
	var nodes []*process
	for i := range ports {
		nodes = append(nodes, x.solrNode(i, ports[i]))
	}
	job := x.java("job", 256, "Job", x.connect(), filepath.Join(x.dir, "configset"))
	x.drive(job, func() {
		leads := -1
		x.eventually("a node leads the first shard", func() bool {
			var z struct {
				Node string `json:"node_name"`
			}
			text, err := x.get("/collections/documents/leaders/shard1/leader")
			if err == nil && json.Unmarshal([]byte(text), &z) == nil {
				leads = slices.IndexFunc(ports, func(p int) bool {
					return z.Node == fmt.Sprintf("127.0.0.1:%d_solr", p)
				})
			}
			return leads >= 0
		})
		nodes[leads].kill()
		nodes[leads] = x.solrNode(leads, ports[leads])
	})
}

func (x *run) solrNode(i, port int) *process {
	home := fmt.Sprintf("node-%d", i)
	x.write(filepath.Join(home, "solr.xml"), fmt.Sprintf(`<solr><solrcloud>
<str name="host">127.0.0.1</str>
<int name="hostPort">%d</int>
<str name="hostContext">solr</str>
<int name="zkClientTimeout">8000</int>
</solrcloud></solr>
`, port))
	return x.java(home, 384, "-DzkHost="+x.connect(), "-Dsolr.jetty.host=127.0.0.1", "Node",
		filepath.Join(x.dir, home), fmt.Sprint(port))
}

// write writes a file below the folder of the run.
func (x *run) write(name, text string) {
	path := filepath.Join(x.dir, name)
	require.NoError(x, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(x, os.WriteFile(path, []byte(text), 0o644))
}
