package findings

import "fmt"

// Severity is how urgent a finding is.
type Severity int

// The severities, the least urgent first.
const (
	Notice   Severity = iota // nothing is wrong; it could not be looked at, or is worth knowing
	Warning                  // it works, and will not forever
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
	return fmt.Errorf("findings: no severity %q", b)
}
