package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Every file of dist has an SBOM that is valid by CycloneDX's schema, is of that file, and names a licence of every
// component; those of archives have all that the binary says it is made of.
func TestSBOMs(t *testing.T) {
	valid := schema(t)
	made := map[string]*archive{}
	for _, a := range archives(t) {
		made[filepath.Base(a.file)] = a
	}
	for _, file := range artefacts(t, "*", 12) {
		text := mustGet(os.ReadFile(file + sbomSuffix))(t)
		document := mustGet(jsonschema.UnmarshalJSON(strings.NewReader(string(text))))(t)
		if err := valid.Validate(document); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		var bom cdx.BOM
		must(t, json.Unmarshal(text, &bom))
		subject := bom.Metadata.Component
		if subject.BOMRef != filepath.Base(file) || (*subject.Hashes)[0].Value != sumText(t, file) {
			t.Errorf("%s: the SBOM is of %s", file, subject.BOMRef)
		}
		has := map[string]bool{}
		for _, c := range *bom.Components {
			has[c.Name+" "+c.Version] = true
			for _, l := range *c.Licenses {
				if l.License.ID == "" {
					t.Errorf("%s: the licence of %s is unknown", file, c.Name)
				}
			}
		}
		if !has["preact 11.2.0"] {
			t.Errorf("%s lacks preact", file)
		}
		if a := made[filepath.Base(file)]; a != nil {
			for _, m := range thirdParty(a.info) {
				if !has[m.Path+" "+m.Version] {
					t.Errorf("%s lacks %s", file, m.Path)
				}
			}
		}
		if got := len(*(*bom.Dependencies)[0].Dependencies); got != len(has) || got < 30 {
			t.Errorf("%s: %d components, %d of them needed", file, len(has), got)
		}
	}
	if len(made) != 5 {
		t.Errorf("%d archives", len(made))
	}
}

// A document that is none is refused by the schema.
func TestSchemaRefuses(t *testing.T) {
	valid := schema(t)
	for _, text := range []string{`{}`,
		`{"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [{"type": "library"}]}`,
		`{"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [{"type": "library", "name": "a",
			"licenses": [{"license": {"id": "No-Such-Licence"}}]}]}`} {
		document := mustGet(jsonschema.UnmarshalJSON(strings.NewReader(text)))(t)
		if valid.Validate(document) == nil {
			t.Errorf("it takes %s", text)
		}
	}
}

// schema is that of the specification, which the module of CycloneDX's library has.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	must(t, err)
	c := jsonschema.NewCompiler()
	for id, file := range map[string]string{"bom-1.6.schema.json": "bom-1.6.schema.json",
		"spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json"} { // misspelled there
		f := mustGet(os.Open(filepath.Join(strings.TrimSpace(string(dir)), "schema", file)))(t)
		document := mustGet(jsonschema.UnmarshalJSON(f))(t)
		must(t, f.Close())
		must(t, c.AddResource("http://cyclonedx.org/schema/"+id, document))
	}
	return mustGet(c.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json"))(t)
}
