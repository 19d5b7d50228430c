package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Mix is how often each kind is chosen, relative to the sum of all weights. As a flag it is
// written "get=90,set=10".
type Mix [kindCount]int

// maxWeight bounds a weight, so that no sum overflows.
const maxWeight = 1_000_000

// parseMix parses the form of the flag. Weights are whole numbers from 0; at least one is not 0.
func parseMix(s string) (Mix, error) {
	var m Mix
	for _, part := range strings.Split(s, ",") {
		name, weight, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return m, fmt.Errorf("bench: mix %q: want kind=weight", part)
		}
		kind := slices.Index(kindNames[:], name)
		if kind < 0 {
			return m, fmt.Errorf("bench: mix: unknown kind %q: use one of %s", name, strings.Join(kindNames[:], ", "))
		}
		n, err := strconv.Atoi(weight)
		if err != nil || n < 0 || n > maxWeight {
			return m, fmt.Errorf("bench: mix: weight %q of %s is not a number from 0 to %d", weight, name, maxWeight)
		}
		m[kind] = n
	}
	if m.sum() == 0 {
		return m, fmt.Errorf("bench: mix %q has no weight", s)
	}
	return m, nil
}

// mustMix is parseMix for the mixes of named loads.
func mustMix(s string) Mix {
	m, err := parseMix(s)
	if err != nil {
		panic(err)
	}
	return m
}

func (m Mix) sum() int {
	n := 0
	for _, w := range m {
		n += w
	}
	return n
}

// String returns m as parseMix reads it, without the kinds of weight 0.
func (m Mix) String() string {
	var parts []string
	for k, w := range m {
		if w > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", Kind(k), w))
		}
	}
	return strings.Join(parts, ",")
}

// Set is parseMix, for flags.
func (m *Mix) Set(s string) error {
	v, err := parseMix(s)
	if err == nil {
		*m = v
	}
	return err
}

// Type names the flag's value in the help text.
func (m *Mix) Type() string { return "kind=weight,..." }

// chooser picks kinds with the weights of a Mix: each owns a share of the slots, so a choice costs
// one load. A share is off by at most 1/chooserSlots.
type chooser []Kind

const chooserSlots = 1 << 12

func newChooser(m Mix) chooser {
	c := make(chooser, 0, chooserSlots)
	sum, seen := m.sum(), 0
	for k, w := range m {
		seen += w
		for len(c) < seen*chooserSlots/sum {
			c = append(c, Kind(k))
		}
	}
	return c
}

func (c chooser) choose(random uint64) Kind { return c[random%chooserSlots] }

// Size is a number of bytes of znode data, or a range from which it is drawn evenly. As a flag it is written
// "128" or "0-162".
type Size struct{ Min, Max int }

// maxSize is the largest data a request may carry: a frame is at most 1 MiB - 1.
const maxSize = 1_000_000

// Set parses the form of the flag.
func (s *Size) Set(text string) error {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	a, err1 := strconv.Atoi(low)
	b, err2 := strconv.Atoi(high)
	if err1 != nil || err2 != nil || a < 0 || b < a || b > maxSize {
		return fmt.Errorf("bench: size %q is not a number from 0 to %d or a range of them", text, maxSize)
	}
	*s = Size{a, b}
	return nil
}

// String returns s as Set reads it.
func (s Size) String() string {
	if s.Min == s.Max {
		return strconv.Itoa(s.Min)
	}
	return fmt.Sprintf("%d-%d", s.Min, s.Max)
}

// Type names the flag's value in the help text.
func (s *Size) Type() string { return "bytes" }

// pick draws a size.
func (s Size) pick(random uint64) int { return s.Min + int(random%uint64(s.Max-s.Min+1)) }
