package deploy

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/cmd/warren/command"
	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/embed"
	"github.com/seed94657493/warren/test/must"
)

// readUnit returns the values of each key, by section and key.
func readUnit(t *testing.T, text string) map[string][]string {
	t.Helper()
	unit, section := map[string][]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		default:
			key, value, found := strings.Cut(line, "=")
			require.True(t, found, line)
			unit[section+"."+key] = append(unit[section+"."+key], value)
		}
	}
	return unit
}

func TestUnit(t *testing.T) {
	unit := readUnit(t, read(t, "systemd/warren.service"))
	one := func(key string) string {
		require.Len(t, unit[key], 1, key)
		return unit[key][0]
	}
	require.Equal(t, "notify", one("Service.Type"))
	require.Equal(t, "/usr/bin/warren server /etc/warren/zoo.cfg", one("Service.ExecStart"))
	require.Equal(t, "on-failure", one("Service.Restart"))
	require.GreaterOrEqual(t, must.Atoi(t, one("Service.LimitNOFILE")), 65536)

	final := strings.Fields(one("Service.RestartPreventExitStatus"))
	for code, restart := range map[int]bool{config.ExitInvalid: false, 3: false, 10: true, 14: true} {
		require.Equal(t, restart, !slices.Contains(final, strconv.Itoa(code)), "exit code %d", code)
	}
	for key, values := range unit {
		if !slices.Contains([]string{"Service.SystemCallFilter"}, key) {
			require.Len(t, values, 1, "%s is given twice", key)
		}
	}
	require.Contains(t, unit["Service.SystemCallFilter"], "~@privileged @resources")
	require.Equal(t, "batch", one("Service.CPUSchedulingPolicy"), "@resources refuses it to the server itself")
	require.Contains(t, one("Service.RestrictAddressFamilies"), "AF_UNIX", "READY=1 goes to such a socket")
}

// User and folders are the same in the unit, in sysusers, in tmpfiles and in zoo.cfg.
func TestUnitAgreesWithItsFolders(t *testing.T) {
	unit := readUnit(t, read(t, "systemd/warren.service"))
	user := unit["Service.User"][0]
	require.Contains(t, read(t, "systemd/warren.sysusers"), "\nu "+user+" ")
	folders, modes := map[string]string{}, map[string]string{}
	for line := range strings.Lines(read(t, "systemd/warren.tmpfiles")) {
		if f := strings.Fields(line); len(f) > 4 && f[0] == "d" {
			folders[f[1]], modes[f[1]] = f[3], f[2]
		}
	}
	state := "/var/lib/" + unit["Service.StateDirectory"][0]
	require.Equal(t, user, folders[state])
	require.Equal(t, user, folders["/var/log/"+unit["Service.LogsDirectory"][0]])
	require.Equal(t, "ZOO_LOG_DIR=/var/log/"+unit["Service.LogsDirectory"][0]+" GOTRACEBACK=crash",
		unit["Service.Environment"][0])
	require.Contains(t, read(t, "systemd/zoo.cfg"), "dataDir="+state+"\n")

	// A reconfiguration renames files in the folder of zoo.cfg, which ProtectSystem=strict makes read-only.
	etc := "/etc/" + unit["Service.ConfigurationDirectory"][0]
	require.Equal(t, []string{etc}, unit["Service.ReadWritePaths"])
	require.Equal(t, "0770", modes[etc], "the group, which is that of the server, writes")
	require.Equal(t, modes[etc], unit["Service.ConfigurationDirectoryMode"][0], "systemd warns if they differ")
}

// The file that packages install starts a server, and an ensemble with the comment signs removed.
func TestUnitConfiguration(t *testing.T) {
	text := read(t, "systemd/zoo.cfg")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "myid"), []byte("2\n"), 0o644))
	for _, ensemble := range []bool{false, true} {
		text := strings.ReplaceAll(text, "dataDir=/var/lib/warren", "dataDir="+dir)
		if ensemble {
			text = strings.NewReplacer("#initLimit", "initLimit", "#syncLimit", "syncLimit", "#server.", "server.").
				Replace(text)
			text = strings.ReplaceAll(text, "clientPortAddress=127.0.0.1\n", "")
		}
		file := filepath.Join(dir, "zoo.cfg")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		report := config.Check(file, nil, nil)
		require.Empty(t, report.Problems)
		require.Empty(t, report.Warnings)
		require.Equal(t, ensemble, report.Config.Distributed())
	}
}

// The backup is confined as the server is, but writes nothing except the backup, and nothing starts it by itself.
func TestBackupUnit(t *testing.T) {
	server := readUnit(t, read(t, "systemd/warren.service"))
	unit := readUnit(t, read(t, "systemd/warren-backup.service"))
	for _, key := range []string{"User", "Group", "UMask", "LimitCORE", "NoNewPrivileges", "CapabilityBoundingSet",
		"AmbientCapabilities", "RemoveIPC", "LockPersonality", "MemoryDenyWriteExecute"} {
		require.Equal(t, server["Service."+key], unit["Service."+key], key)
		require.NotEmpty(t, unit["Service."+key], key)
	}
	for key, values := range server {
		if strings.HasPrefix(key, "Service.Protect") || strings.HasPrefix(key, "Service.Private") ||
			strings.HasPrefix(key, "Service.Restrict") || strings.HasPrefix(key, "Service.SystemCall") {
			require.Equal(t, values, unit[key], key)
		}
	}
	require.Empty(t, unit["Service.ReadWritePaths"])
	require.Empty(t, unit["Install.WantedBy"], "only the timer is enabled")
	require.Equal(t, []string{"oneshot"}, unit["Service.Type"])
	folder := "/var/lib/" + unit["Service.StateDirectory"][0]
	require.Equal(t, folder, backupDefaults(unit)["BACKUP_TO"])
	require.Contains(t, read(t, "systemd/zoo.cfg"), "#warren.console.backups="+folder+"\n")

	timer := readUnit(t, read(t, "systemd/warren-backup.timer"))
	require.Equal(t, map[string][]string{"Unit.Description": timer["Unit.Description"],
		"Timer.OnCalendar": {"daily"}, "Timer.RandomizedDelaySec": {"1h"}, "Timer.Persistent": {"yes"},
		"Install.WantedBy": {"timers.target"}}, timer)
}

// backupDefaults are the variables of a unit.
func backupDefaults(unit map[string][]string) map[string]string {
	variables := map[string]string{}
	for _, value := range unit["Service.Environment"] {
		assignments := strings.Fields(value)
		if quoted := strings.Trim(value, `"`); quoted != value {
			assignments = []string{quoted}
		}
		for _, assignment := range assignments {
			name, value, _ := strings.Cut(assignment, "=")
			variables[name] = value
		}
	}
	return variables
}

// The commands of the unit make a backup of a running server, and verify it; without a server they fail.
func TestBackupUnitBacksUp(t *testing.T) {
	unit := readUnit(t, read(t, "systemd/warren-backup.service"))
	dir := t.TempDir()
	backup, config := filepath.Join(dir, "backup"), filepath.Join(dir, "zoo.cfg")
	server := embed.Start(t, embed.Options{Dir: filepath.Join(dir, "data")})
	text := fmt.Sprintf("dataDir=%s/data/server-1\nclientPort=2181\n", dir)
	require.NoError(t, os.WriteFile(config, []byte(text), 0o644))
	variables := backupDefaults(unit)
	run := func() (codes []int, said string) {
		var out bytes.Buffer
		for _, line := range unit["Service.ExecStart"] {
			line = os.Expand(line, func(name string) string { return variables[name] })
			line = strings.NewReplacer("127.0.0.1:2181", server.ConnectString(), "/etc/warren/zoo.cfg", config,
				variables["BACKUP_TO"], backup).Replace(line)
			words := strings.Fields(line)
			require.Equal(t, "/usr/bin/warren", words[0])
			codes = append(codes, command.Main(words[1:], &out, &out))
		}
		return codes, out.String()
	}
	var out bytes.Buffer
	require.Zero(t, command.Main([]string{"shell", "-s", server.ConnectString(), "create", "/a"}, &out, &out), &out)
	codes, said := run()
	require.Equal(t, []int{0, 0}, codes, said)
	codes, said = run()
	require.Equal(t, []int{0, 0}, codes, "once more: %s", said)
	require.FileExists(t, filepath.Join(backup, "manifest.json"))
	server.Stop(1)
	codes, said = run()
	require.Equal(t, 1, codes[0], said)
}

// systemd itself finds nothing wrong with the units.
func TestUnitsAreVerified(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze")
	}
	dir := t.TempDir()
	var units []string
	for _, name := range []string{"warren.service", "warren-backup.service", "warren-backup.timer"} {
		text := strings.ReplaceAll(read(t, "systemd/"+name), "/usr/bin/warren ", "/bin/true ")
		text = strings.ReplaceAll(text, "Documentation=", "#") // the manual pages are not installed
		units = append(units, filepath.Join(dir, name))
		require.NoError(t, os.WriteFile(units[len(units)-1], []byte(text), 0o644))
	}
	out := must.Output(t, exec.Command(analyze, append([]string{"verify"}, units...)...))
	require.NotContains(t, string(out), dir, "a warning")
}
