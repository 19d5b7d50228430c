package ensemble

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// What operators see of histories that differ.

// adminSettings gives a Warren server an admin port of its own.
func adminSettings(t *testing.T, settings map[string]string) (port int) {
	t.Helper()
	port = cluster.FreePort(t)
	settings["admin.enableServer"], settings["admin.serverAddress"] = "true", "127.0.0.1"
	settings["admin.serverPort"] = strconv.Itoa(port)
	return port
}

// fetch asks the admin server of a Warren server.
func (c *chaos) fetch(node *cluster.Node, path string) (status int, text string) {
	c.t.Helper()
	response := must.Do(http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", c.admin[node.ID()], path)))(c.t)
	defer response.Body.Close()
	return response.StatusCode, string(must.ReadAll(c.t, response.Body))
}

// zabState is what the command zabstate says of histories that differ, and of voters without a database.
type zabState struct {
	Ensemble  string `json:"ensemble"`
	Outside   bool   `json:"outside"`
	Leader    int    `json:"outside_leader"`
	Reason    string `json:"outside_reason"`
	Own       string `json:"own_history"`
	Strangers []struct {
		ID     int    `json:"myid"`
		Reason string `json:"reason"`
	} `json:"strangers"`

	Blank    bool   `json:"blank"`
	Stuck    bool   `json:"stuck"`
	WaitsFor string `json:"waits_for"`
	WayOut   string `json:"way_out"`
}

func (c *chaos) zabState(node *cluster.Node) (z zabState) {
	c.t.Helper()
	_, text := c.fetch(node, "/commands/zabstate")
	require.NoError(c.t, json.Unmarshal([]byte(text), &z), text)
	return z
}

// tells runs a command of the program about a server, which is asked at its admin port too.
func (c *chaos) tells(node *cluster.Node, command string) string {
	c.t.Helper()
	admin := strconv.Itoa(c.admin[node.ID()])
	out, _ := exec.Command(cluster.Binary(c.t), command, "--admin-port", admin, node.Addr()).CombinedOutput()
	return string(out)
}

// showsOutside asserts that a Warren server says everywhere that it stays outside the ensemble which leader leads,
// and why.
func (c *chaos) showsOutside(node, leader *cluster.Node) {
	t := c.t
	t.Helper()
	z := c.zabState(node)
	assert.True(t, z.Outside)
	assert.Equal(t, leader.ID(), z.Leader)
	assert.NotEmpty(t, z.Reason)
	assert.Contains(t, z.Own, "committed up to at least")
	c.logf("server %d is outside: %s", node.ID(), z.Reason)
	status, text := c.fetch(node, "/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Contains(t, text, fmt.Sprintf("outside the ensemble that server %d leads: %s", leader.ID(), z.Reason))
	_, text = c.fetch(node, "/metrics")
	assert.True(t, strings.Contains(text, "\nwarren_zab_outside 1\n"), "the gauge of server %d", node.ID())
	text = c.tells(node, "status")
	assert.Contains(t, text, "  outside  ")
	assert.Contains(t, text, z.Reason)
	text = c.tells(node, "doctor")
	assert.Regexp(t, `(?m)^critical  outside  `, text)
	assert.Contains(t, text, "run warren adopt on its directory")
	warned := strings.Count(node.Log(), "this server stays outside the ensemble")
	assert.Positive(t, warned, "warnings in the log of server %d", node.ID())
	assert.LessOrEqual(t, warned, 3, "warnings in the log of server %d, one a minute", node.ID())
}

// showStrangers asserts that each Warren server says which members have another history, these, and why.
func (c *chaos) showStrangers(strangers ...*cluster.Node) {
	t := c.t
	t.Helper()
	for _, node := range c.nodes {
		cluster.Eventually(t, func() bool { return len(c.zabState(node).Strangers) == len(strangers) }, 20*time.Second,
			"server %d does not know %d strangers", node.ID(), len(strangers))
		z := c.zabState(node)
		for i, s := range strangers {
			assert.Equal(t, s.ID(), z.Strangers[i].ID)
			assert.NotEmpty(t, z.Strangers[i].Reason)
			assert.Contains(t, node.Log(), "a member has another history than this server")
			c.logf("server %d says of %d: %s", node.ID(), s.ID(), z.Strangers[i].Reason)
		}
		_, text := c.fetch(node, "/metrics")
		gauge := fmt.Sprintf("\nwarren_zab_strangers %d\n", len(strangers))
		assert.True(t, strings.Contains(text, gauge), "the gauge of server %d", node.ID())
		if status, text := c.fetch(node, "/readyz"); status != http.StatusOK {
			assert.Regexp(t, "has another history: |stays outside the ensemble", text)
		}
	}
}
