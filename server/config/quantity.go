package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/proto/hostport"
)

// millisMax is the largest number of milliseconds that a time.Duration holds.
const millisMax = int64(math.MaxInt64 / time.Millisecond)

// parseNumber reads a decimal number with an optional sign, as Java does; with a prefix 0x or # it is hexadecimal, as
// in the jute.maxbuffer=0x9fffff of many installations. An error names the text.
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
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, rulef("%q is too large or too small", text)
	case err != nil:
		return 0, notNumber(text)
	}
	return n, nil
}

func notNumber(text string) error { return rulef("%q is not a whole number", text) }

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

// numberWithin is parseNumber with bounds.
func numberWithin(text string, lo, hi int64) (int64, error) {
	n, err := parseNumber(text)
	if err == nil {
		err = within(n, lo, hi)
	}
	return n, err
}

// parserOf returns the parser of a field with its default. read turns text into a value, perhaps with a warning.
// allow returns the rule that a value breaks; it is nil if every value is allowed.
func parserOf[T any](field *T, def T, read func(text string) (T, string, error), allow func(T) error) parser {
	p := parser{reset: func() { *field = def }, show: func() string { return textOf(*field) }}
	if allow != nil {
		p.check = func() error { return allow(*field) }
	}
	p.parse = func(text string) (string, error) {
		value, warning, err := read(text)
		if err == nil && allow != nil {
			err = allow(value)
		}
		if err != nil {
			return "", err
		}
		*field = value
		return warning, nil
	}
	return p
}

// textOf spells a value for readers: a list as it is written in a file, a duration in Go's form.
func textOf(value any) string {
	if list, ok := value.([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(value)
}

// times reads a whole number of units from lo to hi.
func times[T ~int | ~int64](field *T, def, unit T, lo, hi int64) parser {
	units := ""
	switch any(unit) {
	case time.Millisecond:
		units = " of milliseconds"
	case time.Second:
		units = " of seconds"
	}
	refused := rulef("must be a whole number%s from %d to %d", units, lo, hi)
	return parserOf(field, def, func(text string) (T, string, error) {
		n, err := parseNumber(text)
		if err != nil || n < lo || n > hi {
			return 0, "", refused
		}
		return T(n) * unit, "", nil
	}, func(value T) error {
		if n := int64(value / unit); n < lo || n > hi {
			return refused
		}
		return nil
	})
}

// whole reads a whole number from lo to hi.
func whole[T int | int64](field *T, def T, lo, hi int64) parser { return times(field, def, 1, lo, hi) }

// count reads a whole number from lo to what Java's int holds.
func count(field *int, def int, lo int64) parser { return whole(field, def, lo, math.MaxInt32) }

// atLeast is count, but raises a smaller number to lo with a warning, as ZooKeeper does.
func atLeast(field *int, def, lo int) parser { return raising(count(field, def, int64(lo)), field, lo) }

// raising is p, but raises a number below lo to lo with a warning.
func raising(p parser, field *int, lo int) parser {
	read := p.parse
	p.parse = func(text string) (string, error) {
		n, err := parseNumber(text)
		if err == nil && n < int64(lo) {
			*field = lo
			return fmt.Sprintf("%d is below the minimum, %d is used", n, lo), nil
		}
		return read(text)
	}
	return p
}

// replacing is p, but sets the field to value for a number from lo to hi, which p need not allow.
func replacing[T any](p parser, lo, hi int64, field *T, value T) parser {
	read := p.parse
	p.parse = func(text string) (string, error) {
		if _, err := numberWithin(text, lo, hi); err == nil {
			*field = value
			return "", nil
		}
		return read(text)
	}
	return p
}

// offBelow is whole from 1, but zero and less switch the limit off, which the field holds as zero.
func offBelow[T int | int64](field *T, def T, hi int64) parser {
	return replacing(whole(field, def, 0, hi), math.MinInt64, 0, field, 0)
}

// port reads a TCP port; PortUnset stands for a port that was not given and cannot be written.
func port(field *int, def int) parser {
	p := whole(field, def, 0, math.MaxUint16)
	p.check = func() error { return within(int64(*field), PortUnset, math.MaxUint16) }
	return p
}

// millis reads milliseconds from lo to what Java's int holds, which is 24 days.
func millis(field *time.Duration, def time.Duration, lo int64) parser {
	return times(field, def, time.Millisecond, lo, math.MaxInt32)
}

// longMillis reads milliseconds from lo to what a time.Duration holds, for keys that are a long in Java.
func longMillis(field *time.Duration, def time.Duration, lo int64) parser {
	return times(field, def, time.Millisecond, lo, millisMax)
}

// millisOrDefault reads milliseconds from 0; -1 is the default that resolve fills in.
func millisOrDefault(field *time.Duration) parser {
	return replacing(millis(field, unset, 0), -1, -1, field, unset)
}

// interval reads a number of hours, or a number with one of the suffixes ms, s, m, h and d. Zero and less are off.
func interval(field *time.Duration, def time.Duration) parser {
	return parserOf(field, def, func(text string) (time.Duration, string, error) {
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
			return 0, "", rule("must be a whole number of hours, or one with a unit: ms, s, m, h or d, as in 12h")
		}
		err = within(n, math.MinInt32, min(math.MaxInt32, int64(math.MaxInt64/unit)))
		return max(0, time.Duration(n)*unit), "", err
	}, func(value time.Duration) error { return within(int64(value), 0, math.MaxInt64) })
}

// ratio reads a decimal fraction from lo to hi.
func ratio(field *float64, def, lo, hi float64) parser {
	refused := rulef("must be a number from %g to %g", lo, hi)
	return parserOf(field, def, func(text string) (float64, string, error) {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			err = refused
		}
		return f, "", err
	}, func(f float64) error {
		if !(lo <= f && f <= hi) { // also refuses NaN
			return refused
		}
		return nil
	})
}

// strict reads true or false in any letter case, and nothing else. Native keys are read like that.
func strict(field *bool, def bool) parser {
	return parserOf(field, def, func(text string) (bool, string, error) {
		isTrue := strings.EqualFold(text, "true")
		if !isTrue && !strings.EqualFold(text, "false") {
			return false, "", rule("must be true or false")
		}
		return isTrue, "", nil
	}, nil)
}

// lax reads true in any letter case as true and everything else as false. Properties are read like that.
func lax(field *bool, def bool) parser {
	return parserOf(field, def, func(text string) (isTrue bool, warning string, err error) {
		isTrue = strings.EqualFold(text, "true")
		if !isTrue && !strings.EqualFold(text, "false") {
			warning = fmt.Sprintf("%q is neither true nor false and is read as false", text)
		}
		return isTrue, warning, nil
	}, nil)
}

// onlyWord sets the field to value if the text is exactly word, and to its opposite, the default, otherwise; a text
// that is neither word nor other earns a warning.
func onlyWord(field *bool, word string, value bool, other string) parser {
	return parserOf(field, !value, func(text string) (_ bool, warning string, err error) {
		if text != word && text != other {
			warning = fmt.Sprintf("%q is neither %s nor %s and is read as %s", text, word, other, other)
		}
		return (text == word) == value, warning, nil
	}, nil)
}

// words reads any text.
func words[T ~string](field *T, def T) parser { return wordsThat(nil, field, def) }

// wordsThat reads a text that obeys a rule, as parserOf.
func wordsThat[T ~string](allow func(T) error, field *T, def T) parser {
	return parserOf(field, def, func(text string) (T, string, error) { return T(text), "", nil }, allow)
}

// path reads the name of a file or a directory.
func path(field *string) parser {
	p := words(field, "")
	p.inFile = relativeWarning
	return p
}

// bindAddress reads a host or address; an empty one is loopback in Java, where it would be every address in Go.
func bindAddress(field *string, def string) parser {
	return parserOf(field, def, func(text string) (string, string, error) {
		if text == "" {
			return "localhost", "is empty and is read as localhost", nil
		}
		host, err := hostport.Host(text)
		if err != nil {
			return "", "", rulef("%v", err)
		}
		return host, "", nil
	}, nil)
}

// choice reads one of the given words, in any letter case, and stores it as given here. The first is the default.
func choice(field *string, options ...string) parser {
	return parserOf(field, options[0], func(text string) (string, string, error) {
		if i := slices.IndexFunc(options, func(o string) bool { return strings.EqualFold(o, text) }); i >= 0 {
			text = options[i]
		}
		return text, "", nil
	}, func(value string) error {
		if !slices.Contains(options, value) {
			return rulef("must be one of %s", strings.TrimPrefix(strings.Join(options, ", "), ", "))
		}
		return nil
	})
}

// list reads a comma separated list; elements are trimmed and empty ones dropped.
func list(field *[]string) parser {
	return parserOf(field, nil, func(text string) ([]string, string, error) { return listed(text), "", nil }, nil)
}
