package config

import (
	"math"
	"net/url"
	"strings"
	"time"
)

// Trace is where the time of operations goes. Warren's own.
type Trace struct {
	// Slow is how many ms an operation must take to be kept as a slow one: for the log, the command slow, /api/v1/slow
	// and warren slow, and for the traces. 0 or -1 keeps none. Key warren.slow.threshold; default 500ms.
	Slow time.Duration
	// Endpoint is the URL to which traces are sent by OTLP over HTTP, such as http://localhost:4318/v1/traces; empty:
	// no traces. Key warren.trace.endpoint; default none.
	Endpoint string
	// Ratio is the share of operations that are traced, from 0 to 1. Slow ones are traced in any case. It must be the
	// same on all servers. Key warren.trace.ratio; default 0.01.
	Ratio float64
	// Headers are added to the requests with traces: Name=value, with commas between several. Key
	// warren.trace.headers; default none.
	Headers string
}

func (t *Trace) settings() []setting {
	headers := nativeKey(traceHeaders(&t.Headers), "warren.trace.headers")
	headers.secret = true
	return []setting{
		nativeKey(times(&t.Slow, 500*time.Millisecond, time.Millisecond, -1, math.MaxInt32), "warren.slow.threshold"),
		nativeKey(traceEndpoint(&t.Endpoint), "warren.trace.endpoint"),
		nativeKey(ratio(&t.Ratio, 0.01, 0, 1), "warren.trace.ratio"),
		headers,
	}
}

// traceEndpoint reads the URL of a collector.
func traceEndpoint(field *string) parser {
	return wordsThat(func(text string) error {
		if text == "" {
			return nil
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return rule("must be a URL such as http://localhost:4318/v1/traces, without a user")
		}
		return nil
	}, field, "")
}

// traceHeaders reads a list of headers.
func traceHeaders(field *string) parser {
	return wordsThat(func(text string) error {
		if _, ok := headersOf(text); !ok {
			return rule("must be Name=value, with commas between several headers")
		}
		return nil
	}, field, "")
}

// Header is a header of a request.
type Header struct{ Name, Value string }

// HeaderList returns Headers one by one.
func (t *Trace) HeaderList() []Header {
	all, _ := headersOf(t.Headers)
	return all
}

// headersOf reports false if a name or value cannot be in a header.
func headersOf(text string) (all []Header, ok bool) {
	if text == "" {
		return nil, true
	}
	for _, part := range strings.Split(text, ",") {
		name, value, found := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !found || name == "" || strings.ContainsFunc(name, notToken) || strings.ContainsFunc(value, notVisible) {
			return nil, false
		}
		all = append(all, Header{name, value})
	}
	return all, true
}

// notToken reports whether a letter cannot be in the name of a header.
func notToken(r rune) bool {
	return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("-_.", r)
}

// notVisible reports whether a letter cannot be in the value of a header.
func notVisible(r rune) bool { return r < ' ' || r > '~' }
