package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed94657493/warren/cmd/warren/wording"
	"github.com/seed94657493/warren/internal/findings"
)

// Severity is how urgent a finding is.
type Severity = findings.Severity

// The severities, the least urgent first.
const (
	Notice   = findings.Notice
	Warning  = findings.Warning
	Error    = findings.Error
	Critical = findings.Critical
)

// Finding is one thing that a check has found.
type Finding struct {
	Severity Severity `json:"severity"`
	Check    string   `json:"check"`   // its name, which stays the same
	Subject  string   `json:"subject"` // a file, a directory or a server
	What     string   `json:"what"`
	Remedy   string   `json:"remedy,omitempty"`
	// Since is when it began, by the clock of the server that tells it; zero if that is not known.
	Since time.Time `json:"since,omitzero"`

	Whole bool `json:"-"` // it is about the ensemble as a whole, and the subject are all servers that were asked
}

// Findings is what all checks have found.
type Findings []Finding

// add adds a finding. Errors among args are worded for a reader that sees the subject.
func (f *Findings) add(s Severity, check, subject, remedy, format string, args ...any) {
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			args[i] = wording.About(subject, err)
		}
	}
	*f = append(*f, Finding{Severity: s, Check: check, Subject: subject, What: fmt.Sprintf(format, args...),
		Remedy: remedy})
}

// take adds what is found of servers. The subject of what concerns no single one are all that were asked.
func (f *Findings) take(asked []string, some []findings.Finding) {
	for i := range some {
		x := &some[i]
		subject, whole := x.Address, false
		switch {
		case subject != "":
		case x.Server != findings.NoServer:
			subject = fmt.Sprintf("server %d", x.Server)
		default:
			subject, whole = strings.Join(asked, ", "), true
		}
		*f = append(*f, Finding{x.Severity, x.Check, subject, x.What, x.Remedy, x.Since, whole})
	}
}

// Text is what is found, and since when.
func (f *Finding) Text() string {
	if f.Since.IsZero() {
		return f.What
	}
	return f.What + " (since " + f.Since.UTC().Format(time.RFC3339) + ")"
}

// Sort puts the most urgent first, and otherwise keeps the order of the checks.
func (f Findings) Sort() {
	slices.SortStableFunc(f, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
}

// Worst returns the severity of the most urgent, Notice if there is none.
func (f Findings) Worst() Severity {
	worst := Notice
	for _, x := range f {
		worst = max(worst, x.Severity)
	}
	return worst
}
