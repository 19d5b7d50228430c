package server

import (
	"testing"

	"github.com/seed94657493/warren/test/pki"
	"github.com/seed94657493/warren/test/wire"
)

// BenchmarkTLS compares one request at a time, and many, over TLS and without it.
func BenchmarkTLS(b *testing.B) {
	v := serveTLS(b, tlsConfig(), nil)
	safe, plain := v.dial(b, v.ca.Issue(pki.Options{Name: "app"})), dialWire(b, v.Server, wire.Options{})
	plain.MustCreate(b, "/a", make([]byte, 128), 0)
	for _, c := range []struct {
		name string
		conn *wire.Conn
	}{{"plain", plain}, {"tls", safe}} {
		b.Run(c.name+"/1", func(b *testing.B) {
			for b.Loop() {
				if _, _, err := c.conn.GetData("/a", false); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/64", func(b *testing.B) {
			requests := make([]wire.Request, 64)
			for i := range requests {
				requests[i] = wire.GetData("/a", false)
			}
			for b.Loop() {
				for _, call := range c.conn.SendAll(requests) {
					if err := call.Wait(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
