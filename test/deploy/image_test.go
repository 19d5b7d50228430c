package deploy

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/seed94657493/warren/cmd/warren/command/zkscripts"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/cluster"
	"github.com/seed94657493/warren/test/must"
)

// The image has what ZooKeeper's official one has. Source: operations 11.1.
func TestImageIsLikeTheOfficialOne(t *testing.T) {
	im := readImage(t)
	require.Equal(t, "scratch", im.base)
	require.Equal(t, []string{"/data", "/datalog", "/logs"}, im.volumes)
	require.Equal(t, []string{"2181", "2888", "3888", "8080"}, im.ports)
	require.Equal(t, "1000:1000", im.user)
	require.Equal(t, []string{"warren", "server"}, im.command)
	require.Equal(t, []string{"warren", "health", "--process"}, im.health, "a restart brings no quorum back")
	require.Contains(t, im.env, "ZOO_LOG_DIR=/logs")
	links := regexp.MustCompile(`(?s)for name in (.*?); do ln -s warren usr/local/bin/\$name\.sh; done`).
		FindStringSubmatch(read(t, "docker/Dockerfile"))
	require.Len(t, links, 2)
	names := strings.Fields(strings.ReplaceAll(links[1], "\\\n", " "))
	require.Len(t, names, 8)
	for _, name := range names {
		require.NotEqual(t, []string{"x"}, zkscripts.Arguments([]string{"/usr/local/bin/" + name + ".sh", "x"}),
			"%s is a name of the binary", name)
	}
}

// The variables of the Dockerfile say what the server takes for granted without them.
func TestImageVariablesAreTheDefaults(t *testing.T) {
	im := readImage(t)
	require.Equal(t, config.NewImage([]string{"ZOO_CONF_DIR=/conf"}), config.NewImage(im.env))
	choice := []string{"ALLOW_ANONYMOUS_LOGIN=yes"}
	require.Equal(t, config.NewImage(choice), config.NewImage(append(choice, im.env...)),
		"the image changes what Bitnami's variables say")
	for _, variable := range im.env {
		name, _, _ := strings.Cut(variable, "=")
		if name == "PATH" || name == "ZOO_LOG_DIR" {
			continue
		}
		require.NotEmpty(t, config.NewImage([]string{name + "=other"}).File, "%s is unknown to the server", name)
	}
}

// What the image starts serves, and what it calls healthy says so; its folders are as the variables say.
func TestImageServes(t *testing.T) {
	im := readImage(t)
	root := t.TempDir()
	ports := cluster.FreePorts(t, 3)
	env := []string{asCommand + "=1", "ZOO_MY_ID=1", "ZOO_ADMINSERVER_ENABLED=false",
		"ZOO_DATA_LOG_DIR=" + filepath.Join(root, "datalog"),
		fmt.Sprintf("ZOO_SERVERS=server.1=127.0.0.1:%d:%d;127.0.0.1:%d", ports[0], ports[1], ports[2])}
	for _, variable := range im.env {
		name, value, _ := strings.Cut(variable, "=")
		if strings.HasSuffix(name, "_DIR") {
			value = filepath.Join(root, value)
		}
		env = append(env, name+"="+value)
	}
	client := fmt.Sprintf("127.0.0.1:%d", ports[2])
	server := start(t, env, im.command...)
	serves := client + ": standalone\n"
	require.Equal(t, serves, must.Do(run(t, env, "warren", "health", "--wait", "30s", client))(t))
	check := append(slices.Clone(im.health), "--admin-port", "0", client)
	require.Equal(t, serves, must.Do(run(t, env, check...))(t))
	require.FileExists(t, filepath.Join(root, "conf", "zoo.cfg"))
	require.FileExists(t, filepath.Join(root, "data", "myid"))
	require.DirExists(t, filepath.Join(root, "datalog", "version-2"))

	require.Contains(t, must.Do(run(t, env, "zkServer.sh", "status"))(t), "Mode: standalone\n")
	require.Contains(t, must.Do(run(t, env, "zkCli.sh", "-server", client, "ls", "/"))(t), "[zookeeper]")

	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	require.NoError(t, server.Wait(), "SIGTERM is an orderly stop")
	out, err := run(t, env, append(check, "--timeout", "2s")...)
	require.Error(t, err, out)
}

// Each service of the composition is a member of one ensemble of three.
func TestCompositionIsAnEnsemble(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Build       struct{ Context, Dockerfile string }
			Hostname    string            `yaml:"hostname"`
			Environment map[string]string `yaml:"environment"`
			Volumes     []string          `yaml:"volumes"`
		} `yaml:"services"`
		Volumes map[string]any `yaml:"volumes"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "docker/compose.yaml")), &file))
	require.Len(t, file.Services, 3)
	mounted := map[string]bool{}
	for name, service := range file.Services {
		env := readImage(t).env
		for variable, value := range service.Environment {
			env = append(env, variable+"="+value)
		}
		im := config.NewImage(env)
		dir := t.TempDir()
		text := strings.NewReplacer("=/datalog\n", "="+dir+"\n", "=/data\n", "="+dir+"\n").Replace(im.Text)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "zoo.cfg"), []byte(text), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "myid"), []byte(im.MyID), 0o644))
		cfg, warnings := must.Do2(config.Load(filepath.Join(dir, "zoo.cfg"), nil, nil))(t)
		require.Empty(t, warnings)
		require.True(t, cfg.Distributed())
		require.Len(t, cfg.Members, 3)
		require.Equal(t, name, service.Hostname)
		require.FileExists(t, filepath.Join("../../deploy/docker", service.Build.Context, service.Build.Dockerfile))
		require.Equal(t, service.Hostname, cfg.Member(cfg.ServerID).Addresses[0].Host, "ZOO_MY_ID of %s", name)
		for _, volume := range service.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			require.Contains(t, file.Volumes, source)
			require.False(t, mounted[source], "two servers share %s", source)
			mounted[source] = true
		}
	}
	require.Len(t, file.Volumes, len(mounted))
}

// process is this program as the command words, the first of which is the name it is started under.
func process(t *testing.T, env []string, words ...string) *exec.Cmd {
	t.Helper()
	self := must.Do(os.Executable())(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = words
	cmd.Env = append(env, "GORACE=atexit_sleep_ms=0") // the race detector would sleep a second before each end
	cmd.Dir = t.TempDir()
	return cmd
}

// start runs a command until the test ends.
func start(t *testing.T, env []string, words ...string) *exec.Cmd {
	t.Helper()
	cmd := process(t, env, words...)
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return cmd
}

// run returns what a command prints to standard output and whether it exits with 0.
func run(t *testing.T, env []string, words ...string) (string, error) {
	t.Helper()
	cmd := process(t, env, words...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s%s", err, out, errs.String())
	}
	return string(out), err
}
