package deploy

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
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
	files, err := strconv.Atoi(one("Service.LimitNOFILE"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, files, 65536)

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
