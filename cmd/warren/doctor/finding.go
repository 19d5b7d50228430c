package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seed94657493/warren/cmd/warren/wording"
)

// Severity is how urgent a finding is.
type Severity int

// The severities, the least urgent first.
const (
	Notice   Severity = iota // nothing is wrong; it could not be looked at, or is worth knowing
	Warning                  // it works, and will not for ever
	Error                    // something does not work, or will not after the next restart
	Critical                 // clients are not served, or data is in danger
)

// String returns the word for it.
func (s Severity) String() string { return [...]string{"notice", "warning", "error", "critical"}[s] }

// MarshalText implements encoding.TextMarshaler.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Severity) UnmarshalText(b []byte) error {
	for v := Notice; v <= Critical; v++ {
		if v.String() == string(b) {
			*s = v
			return nil
		}
	}
	return fmt.Errorf("doctor: no severity %q", b)
}

// Finding is one thing that a check has found.
type Finding struct {
	Severity Severity `json:"severity"`
	Check    string   `json:"check"`   // its name, which stays the same
	Subject  string   `json:"subject"` // a file, a directory or a server
	What     string   `json:"what"`
	Remedy   string   `json:"remedy,omitempty"`
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
	*f = append(*f, Finding{s, check, subject, fmt.Sprintf(format, args...), remedy})
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
