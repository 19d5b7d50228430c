//go:build systems

package systems

import (
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// maven runs Maven in a folder with a project, for tests on this checkout's server. It skips the test if it cannot
// fetch what it needs.
func maven(t *testing.T, folder string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "mvn", append([]string{"-B", "-Dmaven.repo.local=" + repository(t), "-f",
		filepath.Join(folder, "pom.xml")}, args...)...)
	cmd.Env = append(os.Environ(), "WARREN_BIN="+cluster.Binary(t))
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "COMPILATION ERROR") &&
		!strings.Contains(string(out), "Tests run:") {
		t.Skipf("mvn: %v\n%s", err, out)
	}
	require.NoError(t, err, "%s", out)
}

func repository(t *testing.T) string { return filepath.Join(cache(t), "m2") }

// projects returns a copy of the Java projects, whose jars are installed.
func projects(t *testing.T) (folder string) {
	folder = t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS("../../java")))
	maven(t, filepath.Join(folder, "warren-test-server"), "install")
	maven(t, filepath.Join(folder, "warren-embedded"), "install")
	return folder
}

// report is what a run of tests in Java leaves.
type report struct {
	Tests    int `xml:"tests,attr"`
	Errors   int `xml:"errors,attr"`
	Failures int `xml:"failures,attr"`
	Skipped  int `xml:"skipped,attr"`
}

func readReport(t *testing.T, pattern string) (r report) {
	t.Helper()
	found := must.Glob(t, pattern)
	require.Len(t, found, 1)
	require.NoError(t, xml.Unmarshal(must.ReadFile(t, found[0]), &r))
	return r
}

// A project that declares the jar of java/warren-test-server runs its tests on Warren.
func TestServerForJavaProjects(t *testing.T) {
	example := filepath.Join(projects(t), "example")
	maven(t, example, "test")
	require.Equal(t, report{Tests: 1}, readReport(t, filepath.Join(example, "target/surefire-reports/TEST-*.xml")))
}

// Tests of others that start ZooKeeper in their own process run on Warren, where the jar of java/warren-embedded comes
// first in the class path: those of Kafka by ZooKeeperServer, those of Curator and Pulsar by ZooKeeperServerEmbedded.
func TestServerEmbedded(t *testing.T) {
	folder := projects(t)
	jar := func(name string) string { return filepath.Join(folder, name, "target", name+"-0.1.0.jar") }
	for name, suite := range map[string]struct {
		classes []string
		run     func(classes []string, reports string) []string
		read    func(t *testing.T, reports string) report
		least   int
	}{
		"kafka-tests": {[]string{"kafka.zk.KafkaZkClientTest", "kafka.zookeeper.ZooKeeperClientTest"}, junit,
			readJUnit, 90},
		"curator-tests": {[]string{"org.apache.curator.framework.recipes.locks.TestInterProcessMutex",
			"org.apache.curator.framework.recipes.cache.TestCuratorCache"}, junit, readJUnit, 17},
		"pulsar-tests": {[]string{"org.apache.pulsar.metadata.CounterTest",
			"org.apache.pulsar.metadata.LockManagerTest",
			"org.apache.pulsar.metadata.MetadataStoreExtendedTest",
			"org.apache.pulsar.metadata.bookkeeper.PulsarRegistrationClientTest",
			"org.apache.pulsar.metadata.bookkeeper.LedgerUnderreplicationManagerTest"}, testNG, readTestNG, 40},
	} {
		t.Run(name, func(t *testing.T) {
			lib, _ := fetch(t, name)
			reports, starts := t.TempDir(), filepath.Join(t.TempDir(), "starts")
			program := filepath.Join(t.TempDir(), "warren") // notes that it was started
			require.NoError(t, os.WriteFile(program, fmt.Appendf(nil, "#!/bin/sh\necho >>%s\nexec %s \"$@\"\n", starts,
				cluster.Binary(t)), 0o755))
			args := []string{"-Xmx512m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
				"-Dwarren.bin=" + program, "-Djava.io.tmpdir=" + t.TempDir(), "-cp",
				jar("warren-embedded") + ":" + jar("warren-test-server") + ":" + filepath.Join(lib, "*")}
			cmd := exec.CommandContext(t.Context(), "java", append(args, suite.run(suite.classes, reports)...)...)
			cmd.Env = append(os.Environ(), "TEST_METADATA_PROVIDERS=ZooKeeper") // of Pulsar's
			must.Output(t, cmd)
			r := suite.read(t, reports)
			require.GreaterOrEqual(t, r.Tests, suite.least)
			require.Zero(t, r.Errors+r.Failures)
			lines := must.ReadFile(t, starts)
			t.Logf("%d tests, %d skipped, %d servers", r.Tests, r.Skipped, len(lines))
		})
	}
}

// junit runs tests by JUnit's console.
func junit(classes []string, reports string) []string {
	args := []string{"org.junit.platform.console.ConsoleLauncher", "execute", "--details=testfeed",
		"--reports-dir=" + reports}
	for _, class := range classes {
		args = append(args, "--select-class="+class)
	}
	return args
}

func readJUnit(t *testing.T, reports string) report {
	return readReport(t, filepath.Join(reports, "TEST-junit-jupiter.xml"))
}

// testNG runs tests by TestNG.
func testNG(classes []string, reports string) []string {
	return []string{"org.testng.TestNG", "-verbose", "2", "-d", reports, "-testclass", strings.Join(classes, ",")}
}

func readTestNG(t *testing.T, reports string) report {
	var r struct {
		Passed  int `xml:"passed,attr"`
		Failed  int `xml:"failed,attr"`
		Skipped int `xml:"skipped,attr"`
	}
	require.NoError(t, xml.Unmarshal(must.ReadFile(t, filepath.Join(reports, "testng-results.xml")), &r))
	return report{Tests: r.Passed + r.Failed + r.Skipped, Failures: r.Failed, Skipped: r.Skipped}
}
