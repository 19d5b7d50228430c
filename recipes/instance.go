package recipes

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/seed94657493/warren/proto/layouts"
)

// InstanceType says how long an instance of a service is registered.
type InstanceType string

// The types of instances, as Curator has them.
const (
	Dynamic   InstanceType = "DYNAMIC"   // as long as its session
	Static    InstanceType = "STATIC"    // until its Registration is closed
	Permanent InstanceType = "PERMANENT" // until a process calls Unregister
	// As Dynamic, under a numbered znode; only read, never registered.
	DynamicSequential InstanceType = "DYNAMIC_SEQUENTIAL"
)

// Instance is one provider of a service.
type Instance struct {
	Name         string          // of the service
	ID           string          // among the instances of the service; a fresh one if it is "" at registration
	Address      string          // host name or IP address
	Port         int             // 0 is none
	SSLPort      int             // 0 is none
	Payload      json.RawMessage // any JSON; Curator's own programs have a "@class" in objects
	RegisteredAt time.Time       // in milliseconds; now if it is zero at registration
	Type         InstanceType    // Dynamic if it is "" at registration
	URI          URISpec         // how to make a URI; nil is none
	Disabled     bool            // registered, but must not be used
}

// URIPart is a piece of a URISpec: text, or the name of a variable.
type URIPart = layouts.URIPart

// URISpec is a pattern of a URI.
type URISpec []URIPart

// ParseURISpec reads a pattern such as "{scheme}://{address}:{port}/status". The variables are those of
// Instance.BuildURI; {[} and {]} stand for braces. Errors: ErrFormat.
func ParseURISpec(text string) (URISpec, error) {
	var spec URISpec
	for rest := text; rest != ""; {
		before, after, hasVariable := strings.Cut(rest, "{")
		if before != "" {
			spec = append(spec, URIPart{Value: before})
		}
		if !hasVariable {
			break
		}
		name, after, isClosed := strings.Cut(after, "}")
		if name = strings.TrimSpace(name); !isClosed || name == "" {
			return nil, fmt.Errorf("%w: no variable in %q at offset %d", ErrFormat, text,
				len(text)-len(rest)+len(before))
		}
		spec, rest = append(spec, URIPart{Value: name, Variable: true}), after
	}
	return spec, nil
}

// BuildURI fills the pattern of the instance. The variables are scheme (https if there is an SSL port, else
// http), name, id, address, port, ssl-port, registration-time-utc (milliseconds since 1970), service-type (in
// lower case), and those in given, which take precedence. An unknown variable becomes empty.
func (s Instance) BuildURI(given map[string]string) string {
	scheme := "http"
	if s.SSLPort != 0 {
		scheme = "https"
	}
	port := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	values := map[string]string{"scheme": scheme, "name": s.Name, "id": s.ID, "address": s.Address,
		"port": port(s.Port), "ssl-port": port(s.SSLPort),
		"registration-time-utc": strconv.FormatInt(s.RegisteredAt.UnixMilli(), 10),
		"service-type":          strings.ToLower(string(s.Type)), "[": "{", "]": "}"}
	maps.Copy(values, given)
	var b strings.Builder
	for _, part := range s.URI {
		if part.Variable {
			b.WriteString(values[part.Value])
		} else {
			b.WriteString(part.Value)
		}
	}
	return b.String()
}

// encode returns the data of the instance's znode. Errors: ErrFormat for a payload that is not JSON.
func (s Instance) encode() ([]byte, error) {
	j := layouts.Service{Name: s.Name, ID: s.ID, Payload: s.Payload, Address: orNull(s.Address), Port: orNull(s.Port),
		SSLPort: orNull(s.SSLPort), RegisteredAt: s.RegisteredAt.UnixMilli(), Type: string(s.Type)}
	if s.URI != nil {
		j.URI = &layouts.URISpec{Parts: s.URI}
	}
	if s.Disabled {
		j.Enabled = new(bool)
	}
	data, err := json.Marshal(&j)
	if err != nil {
		return nil, fmt.Errorf("%w: instance %s of %s: %w", ErrFormat, s.ID, s.Name, err)
	}
	return data, nil
}

// orNull is a value in JSON, null if it is zero.
func orNull[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// orZero is the inverse of orNull.
func orZero[T any](v *T) T {
	if v == nil {
		return *new(T)
	}
	return *v
}

// decodeInstance reads the data of an instance's znode. It ignores unknown fields.
func decodeInstance(data []byte) (Instance, error) {
	j, err := layouts.ReadService(data)
	if err != nil {
		return Instance{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	s := Instance{Name: j.Name, ID: j.ID, Payload: j.Payload, RegisteredAt: time.UnixMilli(j.RegisteredAt),
		Type: InstanceType(j.Type), Disabled: j.Enabled != nil && !*j.Enabled, Address: orZero(j.Address),
		Port: orZero(j.Port), SSLPort: orZero(j.SSLPort)}
	if string(s.Payload) == "null" {
		s.Payload = nil
	}
	if j.URI != nil {
		s.URI = j.URI.Parts
	}
	return s, nil
}
