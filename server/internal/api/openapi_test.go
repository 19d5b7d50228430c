package api

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed94657493/warren/server/internal/visible"
)

var update = flag.Bool("update", false, "write openapi.json")

// object is an object of JSON; its keys are written in their order.
type object map[string]any

// openapi describes the API by its routes and records.
func openapi(t *testing.T) object {
	schemas := object{}
	paths := object{}
	for _, r := range allRoutes() {
		operation := object{"operationId": r.name, "summary": r.about, "responses": object{
			"200": object{"description": "done", "content": content(t, schemas, r)},
			"default": object{"description": "not done",
				"content": object{
					"application/problem+json": object{
						"schema": schemaOf(t, schemas, reflect.TypeFor[visible.Trouble]())},
				}},
		}}
		if len(r.params) > 0 {
			operation["parameters"] = parameters(r.params)
		}
		if r.takes != nil {
			operation["requestBody"] = object{"required": true,
				"content": object{"application/json": object{"schema": schemaOf(t, schemas, reflect.TypeOf(r.takes))}}}
		}
		if r.changes {
			operation["security"] = []any{object{"digest": []any{}}, object{"cookie": []any{}, "token": []any{}}}
		}
		if paths[r.path] == nil {
			paths[r.path] = object{}
		}
		paths[r.path].(object)[strings.ToLower(r.method)] = operation
	}
	schemaOf(t, schemas, reflect.TypeFor[Happening]()) // in the data of events
	return object{
		"openapi": "3.1.0",
		"info": object{"title": "Warren", "version": "v1",
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "What a Warren server knows of itself, its ensemble and its znodes. ACLs decide as for " +
				"any client. Zxids are hexadecimal text; times are ms since 1970."},
		"servers": []any{object{"url": "/api/v1"}},
		"paths":   paths,
		"components": object{"schemas": schemas, "securitySchemes": object{
			"digest": object{"type": "apiKey", "in": "header", "name": "Authorization",
				"description": "digest user:password, in plain text, as admin commands take it"},
			"cookie": object{"type": "apiKey", "in": "cookie", "name": cookiePrefix,
				"description": "POST /login sets it; its name goes on with letters that a server " +
					"chooses when it starts"},
			"token": object{"type": "apiKey", "in": "header", "name": "X-Warren-Token",
				"description": "token of the record Identity, with the cookie"},
		}},
	}
}

func content(t *testing.T, schemas object, r *route) object {
	switch {
	case r.gives != nil:
		return object{"application/json": object{"schema": schemaOf(t, schemas, reflect.TypeOf(r.gives))}}
	case r.name == "support":
		return object{"application/gzip": object{"schema": object{"type": "string", "format": "binary"}}}
	case r.name == "changes":
		return object{"text/event-stream": object{"schema": object{"type": "string"}}}
	}
	return object{"application/json": object{"schema": object{"type": "object"}}}
}

func parameters(all []param) (list []any) {
	for _, p := range all {
		schema := object{"type": "string"}
		if p.number {
			schema["type"] = "integer"
		}
		list = append(list,
			object{"name": p.name, "in": "query", "description": p.about, "required": p.required, "schema": schema})
	}
	return list
}

// schemaOf returns the schema of a type, and adds that of a record to schemas.
func schemaOf(t *testing.T, schemas object, of reflect.Type) object {
	switch of.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": "array", "items": schemaOf(t, schemas, of.Elem())}
	case reflect.Pointer:
		schema := schemaOf(t, schemas, of.Elem())
		if schema["$ref"] != nil {
			return object{"anyOf": []any{schema, object{"type": "null"}}}
		}
		schema["type"] = []any{schema["type"], "null"}
		return schema
	}
	require.Equal(t, reflect.Struct, of.Kind(), "%s", of)
	ref := object{"$ref": "#/components/schemas/" + of.Name()}
	if schemas[of.Name()] != nil {
		return ref
	}
	properties, required := object{}, []any{}
	schemas[of.Name()] = object{"type": "object", "properties": properties}
	for _, f := range reflect.VisibleFields(of) {
		if f.Anonymous { // its fields follow
			continue
		}
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		require.NotEmpty(t, name, "%s.%s", of.Name(), f.Name)
		require.NotEmpty(t, f.Tag.Get("doc"), "%s.%s", of.Name(), f.Name)
		schema := schemaOf(t, schemas, f.Type)
		if schema["$ref"] == nil {
			schema["description"] = f.Tag.Get("doc")
		}
		properties[name] = schema
		if option == "" {
			required = append(required, name)
		}
	}
	if !isRequest(of) {
		schemas[of.Name()].(object)["required"] = required
	}
	return ref
}

// isRequest reports whether a record is sent by programs, which may leave fields out.
func isRequest(of reflect.Type) bool {
	for _, r := range allRoutes() {
		if r.takes != nil && reflect.TypeOf(r.takes) == of {
			return true
		}
	}
	return of == reflect.TypeFor[ACL]()
}

// openapi.json is what the routes and records say. Write it with go test -run TestDescription -update.
func TestDescription(t *testing.T) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(openapi(t)))
	if *update {
		require.NoError(t, os.WriteFile("openapi.json", []byte(b.String()), 0o644))
		description = []byte(b.String())
	}
	require.Equal(t, b.String(), string(description), "run go test ./server/internal/api -run TestDescription -update")
}
