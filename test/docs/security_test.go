package docs

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/test/must"
)

// securityPage is docs/SECURITY.md, the sections that claim something and the rows of the limits, with the rows of
// docs/PROOF.md that say which tests show what a section claims.
type securityPage struct {
	sections []string
	limits   [][]string
	shown    map[string][]claim
}

// claim is one row of what was tested.
type claim struct {
	at    int
	text  string
	tests []string
}

func readSecurityPage(t *testing.T) *securityPage {
	t.Helper()
	p := &securityPage{shown: map[string][]claim{}}
	section := ""
	for _, line := range linesOf(t, "SECURITY.md") {
		if title, is := strings.CutPrefix(line, "## "); is {
			section = title
			p.sections = append(p.sections, section)
		} else if section == "Limits" && isRow(line, "limit") {
			row := strings.Split(strings.Trim(line, "|"), "|")
			require.Len(t, row, 4, line)
			for n := range row {
				row[n] = strings.TrimSpace(row[n])
			}
			p.limits = append(p.limits, row)
		}
	}
	group := ""
	for i, line := range linesOf(t, "PROOF.md") {
		if title, is := strings.CutPrefix(line, "## "); is {
			section = title
		} else if title, is := strings.CutPrefix(line, "### "); is {
			group = title
		} else if section == "Security" && isRow(line, "claim") {
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			require.Len(t, cells, 2, "docs/PROOF.md:%d", i+1)
			p.shown[group] = append(p.shown[group], claim{i + 1, cells[0], quotedIn(cells[1])})
		}
	}
	return p
}

// linesOf are the lines of a page in docs.
func linesOf(t *testing.T, page string) []string {
	t.Helper()
	return strings.Split(string(must.ReadFile(t, "../../docs/"+page)), "\n")
}

// isRow reports whether a line is a row of a table, and not its head, which begins with a title.
func isRow(line, title string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " ")
	return strings.HasPrefix(line, "| ") && first != "---" && first != title
}

// Every section of the security page has claims that tests show, every limit has a claim of its own, and every test
// exists.
func TestClaimsAreShown(t *testing.T) {
	p, tests := readSecurityPage(t), testNames(t)
	claims, groups := 0, map[string]bool{}
	for _, section := range p.sections {
		if section == "What shows this" {
			break
		}
		require.NotEmpty(t, p.shown[section], "nothing shows what is said of %q", section)
		groups[section] = true
	}
	for group, rows := range p.shown {
		require.True(t, groups[group], "there is no section %q", group)
		for _, c := range rows {
			claims++
			require.NotEmpty(t, c.tests, "docs/PROOF.md:%d", c.at)
			for _, name := range c.tests {
				require.Contains(t, tests, name, "docs/PROOF.md:%d", c.at)
			}
		}
	}
	require.Greater(t, claims, 60)
	named := map[string]bool{}
	for _, c := range p.shown["Limits"] {
		named[c.text] = true
	}
	for _, row := range p.limits {
		require.True(t, named[row[0]], "no test is named for the limit %q", row[0])
		delete(named, row[0])
	}
	require.Empty(t, named, "no such limits")
}

// The defaults in the table of the limits are those of the program, and so is what else the page says is so unless it
// is changed.
func TestLimitsAreTheDefaults(t *testing.T) {
	c := config.Default()
	seconds := func(d time.Duration) string { return fmt.Sprintf("%d s", int(d.Seconds())) }
	mebibytes := func(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
	have := map[string]string{
		"maxClientCnxns":                                        strconv.Itoa(c.MaxClientCnxns),
		"maxCnxns":                                              strconv.Itoa(c.MaxCnxns),
		"nio.sessionlessCnxnTimeout":                            seconds(c.SessionlessTimeout),
		"ssl.handshakeDetectionTimeoutMillis":                   seconds(c.TLS.HandshakeDetectionTimeout),
		"netty.server.outstandingHandshake.limit":               strconv.Itoa(c.HandshakeLimit) + ", -1 is none",
		"jute.maxbuffer":                                        "1 MiB",
		"warren.maxRequestsPerSecond":                           strconv.Itoa(c.MaxRequestsPerSecond),
		"warren.maxWatches":                                     "1,000,000",
		"warren.maxWatchBytes":                                  mebibytes(c.MaxWatchBytes),
		"warren.maxWatchMemory":                                 mebibytes(c.MaxWatchMemory),
		"warren.diskWatermarkBytes":                             mebibytes(c.DiskWatermark.Bytes),
		"connection_throttle_tokens, _fill_time, _fill_count":   "off",
		"globalOutstandingLimit, request_throttle_max_requests": strconv.Itoa(c.GlobalOutstandingLimit) + ", off",
		"largeRequestThreshold, largeRequestMaxBytes":           "off, " + mebibytes(int64(c.LargeRequestMaxBytes)),
		"quotas with enforceQuota":                              "off",
	}
	// Those of which the table has a rounded number or a word.
	require.Equal(t, 1<<20-1, c.JuteMaxBuffer)
	require.EqualValues(t, 1_000_000, c.MaxWatches)
	require.Zero(t, c.ConnectionThrottle.Tokens+c.RequestThrottle.MaxRequests)
	require.LessOrEqual(t, int(c.LargeRequestThreshold), 0)
	require.False(t, c.EnforceQuota)
	require.Equal(t, []string{"srvr"}, c.FourLetterWhitelist)
	checked := 0
	for _, row := range readSecurityPage(t).limits {
		want, key := have[row[1]], row[1]
		if key == "" || key == "its session timeout" {
			continue
		}
		require.NotEmpty(t, want, "the key %q of the limit %q is not compared", key, row[0])
		require.Equal(t, want, row[2], row[0])
		checked++
	}
	require.Equal(t, len(have), checked)
}
