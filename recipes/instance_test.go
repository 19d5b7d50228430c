package recipes

import (
	"encoding/json"
	"testing"
	"time"
)

// Captured from Curator 5.4: a dynamic instance with everything, and a static one with as little as there can be.
const (
	goldenInstance = `{"name":"web","id":"i1","address":"10.0.0.1","port":80,"sslPort":443,` +
		`"payload":{"@class":"Probe$P","a":3,"b":"x"},"registrationTimeUTC":1700000000000,"serviceType":"DYNAMIC",` +
		`"uriSpec":{"parts":[{"value":"scheme","variable":true},{"value":"://","variable":false},` +
		`{"value":"address","variable":true},{"value":":","variable":false},{"value":"port","variable":true},` +
		`{"value":"/x","variable":false}]}}`
	goldenBareInstance = `{"name":"web","id":"i2","address":"10.0.0.2","port":null,"sslPort":null,"payload":null,` +
		`"registrationTimeUTC":1700000000000,"serviceType":"STATIC","uriSpec":null}`
)

func TestInstancesAreCurators(t *testing.T) {
	uri, err := ParseURISpec("{scheme}://{address}:{port}/x")
	noError(t, err)
	at := time.UnixMilli(1700000000000)
	for golden, want := range map[string]Instance{
		goldenInstance: {Name: "web", ID: "i1", Address: "10.0.0.1", Port: 80, SSLPort: 443,
			Payload: json.RawMessage(`{"@class":"Probe$P","a":3,"b":"x"}`), RegisteredAt: at, Type: Dynamic, URI: uri},
		goldenBareInstance: {Name: "web", ID: "i2", Address: "10.0.0.2", RegisteredAt: at, Type: Static},
	} {
		got, err := decodeInstance([]byte(golden))
		noError(t, err)
		equal(t, want, got)
		data, err := got.encode()
		noError(t, err)
		equal(t, golden, string(data))
	}
	got, err := decodeInstance([]byte(`{"name":"a","id":"b","enabled":false,"later":[1]}`))
	noError(t, err)
	equal(t, true, got.Disabled)
	for _, bad := range []string{``, `{`, `[]`, `{"name":"a"}`, `{"id":"a"}`, `{"name":"a","id":"b","port":"x"}`} {
		_, err := decodeInstance([]byte(bad))
		errorIs(t, err, ErrFormat, bad)
	}
}

func TestBuildURI(t *testing.T) {
	s := Instance{Name: "web", ID: "7", Address: "h", Port: 80, RegisteredAt: time.UnixMilli(5), Type: Dynamic}
	for _, tt := range []struct{ spec, uri string }{
		{"", ""},
		{"plain", "plain"},
		{"{scheme}://{address}:{port}/{name}/{id}", "http://h:80/web/7"},
		{"{ssl-port}{registration-time-utc}{service-type}", "5dynamic"},
		{"{[}{ address }{]}{unknown}{extra}", "{h}e"},
	} {
		spec, err := ParseURISpec(tt.spec)
		noError(t, err)
		s.URI = spec
		equal(t, tt.uri, s.BuildURI(map[string]string{"extra": "e"}))
	}
	s.SSLPort = 443
	s.URI = URISpec{{Value: "scheme", Variable: true}, {Value: "ssl-port", Variable: true}}
	equal(t, "https443", s.BuildURI(nil))
	for _, bad := range []string{"{", "a{b", "{}", "x{ }"} {
		_, err := ParseURISpec(bad)
		errorIs(t, err, ErrFormat, bad)
	}
}

func FuzzInstance(f *testing.F) {
	f.Add([]byte(goldenInstance))
	f.Add([]byte(goldenBareInstance))
	f.Add([]byte(`{"name":"a","id":"b","enabled":false,"uriSpec":{"parts":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeInstance(data)
		if err != nil {
			errorIs(t, err, ErrFormat)
			return
		}
		again, err := s.encode()
		noError(t, err)
		second, err := decodeInstance(again)
		noError(t, err)
		third, err := second.encode()
		noError(t, err)
		equal(t, string(again), string(third))
	})
}

func TestStrategies(t *testing.T) {
	abc := []Instance{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	r := RoundRobin()
	var got string
	for range 7 {
		got += r.Pick(abc).ID
	}
	equal(t, "abcabca", got)
	seen := map[string]bool{}
	for random := Random(); len(seen) < 3; {
		seen[random.Pick(abc).ID] = true
	}
	s := Sticky(RoundRobin())
	equal(t, "a", s.Pick(abc).ID)
	equal(t, "a", s.Pick(abc).ID)
	equal(t, "c", s.Pick(abc[1:]).ID, "the next of the other strategy, when its own is gone")
	equal(t, "c", s.Pick(abc).ID)
}

func TestPickLeavesFailingInstancesAlone(t *testing.T) {
	now := time.Unix(1000, 0)
	p := &Provider{strategy: StrategyFunc(func(all []Instance) Instance { return all[0] }),
		now: func() time.Time { return now }, failing: map[string]failure{},
		instances: []Instance{{ID: "a"}, {ID: "b"}}}
	pick := func() string {
		s, err := p.Pick()
		noError(t, err)
		return s.ID
	}
	p.NoteError(Instance{ID: "a"})
	equal(t, "a", pick(), "one error")
	now = now.Add(downTime - 1)
	p.NoteError(Instance{ID: "a"})
	equal(t, "b", pick(), "two")
	now = now.Add(1)
	equal(t, "a", pick(), "the time is over")
	for _, id := range []string{"a", "a", "b", "b"} {
		p.NoteError(Instance{ID: id})
	}
	equal(t, "a", pick(), "none is better")
}
