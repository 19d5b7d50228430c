package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// millisMax is the largest number of milliseconds that a time.Duration holds.
const millisMax = int64(math.MaxInt64 / time.Millisecond)

// parseNumber reads a decimal number with an optional sign, as Java does; with a prefix 0x or # it is hexadecimal, as
// in the jute.maxbuffer=0x9fffff of many installations. The error has Java's words.
func parseNumber(text string) (int64, error) {
	digits, base := text, 10
	sign := ""
	if strings.HasPrefix(digits, "-") || strings.HasPrefix(digits, "+") {
		sign, digits = digits[:1], digits[1:]
	}
	for _, prefix := range []string{"0x", "0X", "#"} {
		if rest, ok := strings.CutPrefix(digits, prefix); ok {
			digits, base = rest, 16
			break
		}
	}
	if strings.HasPrefix(digits, "-") || strings.HasPrefix(digits, "+") {
		return 0, notNumber(text)
	}
	n, err := strconv.ParseInt(sign+digits, base, 64)
	if err != nil {
		return 0, notNumber(text)
	}
	return n, nil
}

func notNumber(text string) error { return rulef("For input string: %q", text) }

// within returns the rule that n breaks, in the unit of the key.
func within(n, lo, hi int64) error {
	switch {
	case n < lo:
		return rulef("must be at least %d", lo)
	case n > hi:
		return rulef("must be at most %d", hi)
	}
	return nil
}

// whole reads a whole number from lo to hi.
func whole[T int | int64](field *T, lo, hi int64) parser {
	return parser{
		parse: func(text string) (string, error) {
			n, err := parseNumber(text)
			if err == nil {
				err = within(n, lo, hi)
			}
			if err == nil {
				*field = T(n)
			}
			return "", err
		},
		check: func() error { return within(int64(*field), lo, hi) },
	}
}

// count reads a whole number from lo to what Java's int holds.
func count(field *int, lo int64) parser { return whole(field, lo, math.MaxInt32) }

// atLeast is count, but raises a smaller number to lo with a warning, as ZooKeeper does.
func atLeast(field *int, lo int) parser {
	p := count(field, int64(lo))
	return parser{check: p.check, parse: func(text string) (string, error) {
		n, err := parseNumber(text)
		if err == nil && n < int64(lo) {
			*field = lo
			return fmt.Sprintf("%d is below the minimum, %d is used", n, lo), nil
		}
		return p.parse(text)
	}}
}

// offBelow is whole from 1, but zero and less switch the limit off, which the field holds as zero.
func offBelow[T int | int64](field *T, hi int64) parser {
	p := whole(field, 0, hi)
	return parser{check: p.check, parse: func(text string) (string, error) {
		if n, err := parseNumber(text); err == nil && n <= 0 {
			*field = 0
			return "", nil
		}
		return p.parse(text)
	}}
}

// port reads a TCP port; PortUnset stands for a port that was not given and cannot be written.
func port(field *int) parser {
	p := whole(field, 0, math.MaxUint16)
	return parser{parse: p.parse, check: func() error {
		if *field == PortUnset {
			return nil
		}
		return p.check()
	}}
}

// times reads a whole number of units from lo to hi.
func times(field *time.Duration, unit time.Duration, lo, hi int64) parser {
	return parser{
		parse: func(text string) (string, error) {
			n, err := parseNumber(text)
			if err == nil {
				err = within(n, lo, hi)
			}
			if err == nil {
				*field = time.Duration(n) * unit
			}
			return "", err
		},
		check: func() error {
			if *field == unset {
				return nil
			}
			return within(int64(*field/unit), lo, hi)
		},
	}
}

// millis reads milliseconds from lo to what Java's int holds, which is 24 days.
func millis(field *time.Duration, lo int64) parser {
	return times(field, time.Millisecond, lo, math.MaxInt32)
}

// longMillis reads milliseconds from lo to what a time.Duration holds, for keys that are a long in Java.
func longMillis(field *time.Duration, lo int64) parser {
	return times(field, time.Millisecond, lo, millisMax)
}

// millisOrDefault reads milliseconds from 0; -1 is the default that resolve fills in.
func millisOrDefault(field *time.Duration) parser {
	p := millis(field, 0)
	return parser{check: p.check, parse: func(text string) (string, error) {
		if n, err := parseNumber(text); err == nil && n == -1 {
			*field = unset
			return "", nil
		}
		return p.parse(text)
	}}
}

// interval reads a number of hours, or a number with one of the suffixes ms, s, m, h and d. Zero and less are off.
func interval(field *time.Duration) parser {
	return parser{
		parse: func(text string) (string, error) {
			digits, unit := text, time.Hour
			for _, s := range []struct {
				suffix string
				unit   time.Duration
			}{{"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}} {
				if rest, ok := strings.CutSuffix(text, s.suffix); ok {
					digits, unit = rest, s.unit
					break
				}
			}
			n, err := parseNumber(strings.TrimSpace(digits))
			if err != nil {
				return "", rulef("Illegal time interval suffix: %s", text)
			}
			if err := within(n, math.MinInt32, min(math.MaxInt32, int64(math.MaxInt64/unit))); err != nil {
				return "", err
			}
			*field = max(0, time.Duration(n)*unit)
			return "", nil
		},
		check: func() error { return within(int64(*field), 0, math.MaxInt64) },
	}
}

// ratio reads a decimal fraction from lo to hi.
func ratio(field *float64, lo, hi float64) parser {
	inside := func(f float64) error {
		if !(lo <= f && f <= hi) { // also refuses NaN
			return rulef("must be from %g to %g", lo, hi)
		}
		return nil
	}
	return parser{
		parse: func(text string) (string, error) {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return "", notNumber(text)
			}
			if err := inside(f); err != nil {
				return "", err
			}
			*field = f
			return "", nil
		},
		check: func() error { return inside(*field) },
	}
}

// strict reads true or false in any letter case, and nothing else. Native keys are read like that.
func strict(field *bool, key string) parser {
	return parser{parse: func(text string) (string, error) {
		switch {
		case strings.EqualFold(text, "true"):
			*field = true
		case strings.EqualFold(text, "false"):
			*field = false
		default:
			return "", rulef("Invalid option %s for %s. Choose 'true' or 'false.'", text, key)
		}
		return "", nil
	}}
}

// lax reads true in any letter case as true and everything else as false. Properties are read like that.
func lax(field *bool) parser {
	return parser{parse: func(text string) (string, error) {
		*field = strings.EqualFold(text, "true")
		if !*field && !strings.EqualFold(text, "false") {
			return fmt.Sprintf("%q is neither true nor false and is read as false", text), nil
		}
		return "", nil
	}}
}

// onlyWord sets the field to value if the text is exactly word, and to its opposite otherwise; a text that is neither
// word nor other earns a warning.
func onlyWord(field *bool, word string, value bool, other string) parser {
	return parser{parse: func(text string) (string, error) {
		*field = !value
		if text == word {
			*field = value
		} else if text != other {
			return fmt.Sprintf("%q is neither %s nor %s and is read as %s", text, word, other, other), nil
		}
		return "", nil
	}}
}

// words reads any text.
func words[T ~string](field *T) parser {
	return parser{parse: func(text string) (string, error) {
		*field = T(text)
		return "", nil
	}}
}

// path reads a file or directory name and warns of a relative one that does not start with a dot, as ZooKeeper does.
func path(field *string) parser {
	return parser{parse: func(text string) (string, error) {
		*field = text
		return relativeWarning(text), nil
	}}
}

// bindAddress reads a host or address; an empty one is loopback in Java, where it would be every address in Go.
func bindAddress(field *string) parser {
	return parser{parse: func(text string) (string, error) {
		*field = text
		if text == "" {
			*field = "localhost"
			return "is empty and is read as localhost", nil
		}
		return "", nil
	}}
}

// choice reads one of the given words, in any letter case, and stores it as given here.
func choice(field *string, options ...string) parser {
	rule := func() error { return rulef("must be one of %s", strings.Join(options, ", ")) }
	return parser{
		parse: func(text string) (string, error) {
			i := slices.IndexFunc(options, func(o string) bool { return strings.EqualFold(o, text) })
			if i < 0 {
				return "", rule()
			}
			*field = options[i]
			return "", nil
		},
		check: func() error {
			if !slices.Contains(options, *field) {
				return rule()
			}
			return nil
		},
	}
}

// list reads a comma separated list; elements are trimmed and empty ones dropped.
func list(field *[]string) parser {
	return parser{parse: func(text string) (string, error) {
		*field = splitList(text)
		return "", nil
	}}
}

func splitList(text string) []string {
	var elements []string
	for e := range strings.SplitSeq(text, ",") {
		if e = trim(e); e != "" {
			elements = append(elements, e)
		}
	}
	return elements
}
