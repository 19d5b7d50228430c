//go:build weak

package zab

// sabotage is the part of Config that exists only under the tag weak.
type sabotage struct {
	Weakness Weakness // defects to bring back; 0 is none
}

func (s sabotage) weak(w Weakness) bool { return s.Weakness&w != 0 }

// WithWeakness returns the configuration with a known defect brought back. It exists only under the tag weak.
func (c Config) WithWeakness(w Weakness) Config { c.Weakness = w; return c }
