package hostport

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string]struct {
		host, port string
		wrong      bool
	}{
		"":                            {},
		"zk1":                         {host: "zk1"},
		"zk1:2181":                    {host: "zk1", port: "2181"},
		"zk1.":                        {host: "zk1."},
		"127.0.0.1:2181":              {host: "127.0.0.1", port: "2181"},
		":2181":                       {port: "2181"},
		"::":                          {host: "::"},
		"::1":                         {host: "::1"},
		"[::1]":                       {host: "::1"},
		"[::]:2181":                   {host: "::", port: "2181"},
		"[2001:db8::1]:2181":          {host: "2001:db8::1", port: "2181"},
		"fe80::1%eth0":                {host: "fe80::1%eth0"},
		"[fe80::1%eth0]":              {host: "fe80::1%eth0"},
		"[fe80::1%eth0]:2181":         {host: "fe80::1%eth0", port: "2181"},
		"::ffff:10.0.0.1":             {host: "::ffff:10.0.0.1"},
		"::1:2181":                    {host: "::1:2181"}, // an address of its own: a port needs brackets
		"zk1:":                        {wrong: true},
		"[::1]:":                      {wrong: true},
		"zk1:0":                       {host: "zk1", port: "0"},
		"zk1:65535":                   {host: "zk1", port: "65535"},
		"zk1:65536":                   {wrong: true},
		"zk1:-1":                      {wrong: true},
		"zk1:+1":                      {wrong: true},
		"zk1:x":                       {wrong: true},
		"zk1:http":                    {wrong: true}, // the names of services are no ports, as in Java
		"zk1: 2181":                   {wrong: true},
		"[::1]:65536":                 {wrong: true},
		"[::1]:0x1":                   {wrong: true},
		":2181a":                      {wrong: true},
		"[::1":                        {wrong: true},
		"[::1]2181":                   {wrong: true},
		"[]:2181":                     {wrong: true},
		"[localhost]:2181":            {wrong: true}, // as Java
		"[127.0.0.1]":                 {wrong: true}, // as Java
		"zk1:2888:3888":               {wrong: true},
		"2001:db8::1:2181:3181:1:2:3": {wrong: true},
	} {
		host, port, err := Split(text)
		if host != want.host || port != want.port || (err != nil) != want.wrong {
			t.Errorf("Split(%q) = %q, %q, %v", text, host, port, err)
		}
		if err != nil && !errors.Is(err, ErrSyntax) {
			t.Errorf("Split(%q): %v", text, err)
		}
	}
}

func TestHostAndComplete(t *testing.T) {
	if host, err := Host("[fe80::1%eth0]"); host != "fe80::1%eth0" || err != nil {
		t.Error(host, err)
	}
	if _, err := Host("127.0.0.1:2181"); !errors.Is(err, ErrSyntax) {
		t.Error(err)
	}
	for text, want := range map[string]string{"a": "a:1", "a:2": "a:2", "::1": "[::1]:1", "[::1]": "[::1]:1",
		"[::1]:2": "[::1]:2"} {
		if got, err := Complete(text, "1"); got != want || err != nil {
			t.Errorf("Complete(%q) = %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"a:x", "[::1]:x", "a:65536", ":99999"} {
		const want = "the port is not a number from 0 to 65535"
		if got, err := Complete(text, "1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Complete(%q) = %q, %v", text, got, err)
		}
		if _, err := Host(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Host(%q): %v", text, err)
		}
	}
	if WithoutZone("fe80::1%eth0") != "fe80::1" || WithoutZone("zk%1") != "zk%1" {
		t.Error("a zone")
	}
	if !IsAddress("fe80::1%eth0") || !IsAddress("1.2.3.4") || IsAddress("zk1") || IsAddress("[::1]") {
		t.Error("an address")
	}
}

// FuzzSplit: whatever is read is what package net makes of the same host and port, and is read alike again.
func FuzzSplit(f *testing.F) {
	for _, text := range []string{"zk1:2181", "[::1]:2181", "::1", "[fe80::1%eth0]", "a:b:c", "[", "]:", "00]00",
		"[::1]:[]", "fe80::1%]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		host, port, err := Split(text)
		if err != nil {
			return
		}
		if port == "" {
			port = "1"
		}
		joined, err := Complete(text, "1")
		if err != nil || joined != net.JoinHostPort(host, port) {
			t.Fatalf("%q, %v", joined, err)
		}
		if h, p, err := net.SplitHostPort(joined); err != nil || h != host || p != port {
			t.Fatalf("package net reads %q as %q, %q, %v", joined, h, p, err)
		}
		if h, p, err := Split(joined); err != nil || h != host || p != port {
			t.Fatalf("%q is read as %q, %q, %v", joined, h, p, err)
		}
		if fields, err := Fields(joined + ":x"); err != nil || !slices.Equal(fields, []string{host, port, "x"}) {
			t.Fatalf("fields of %q: %q, %v", joined, fields, err)
		}
	})
}
