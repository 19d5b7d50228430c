package main

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
	"github.com/package-url/packageurl-go"
)

// sbomSuffix is what the name of an artefact and that of its SBOM differ by.
const sbomSuffix = ".cdx.json"

// writeSBOMs writes an SBOM beside each file, in CycloneDX's form: the modules that the binaries of the archives say
// they are made of, and what else the archives' notices name.
func writeSBOMs(files []string, from ...*archive) error {
	var components []cdx.Component
	for _, a := range from {
		more, err := componentsOf(a)
		if err != nil {
			return err
		}
		components = append(components, more...)
	}
	order := func(a, b cdx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) }
	slices.SortFunc(components, order)
	components = slices.CompactFunc(components, func(a, b cdx.Component) bool { return a.BOMRef == b.BOMRef })
	for _, file := range files {
		if err := writeSBOM(file, from[0], components); err != nil {
			return err
		}
	}
	return nil
}

func writeSBOM(file string, a *archive, components []cdx.Component) error {
	sum, err := sumOf(file)
	if err != nil {
		return err
	}
	name := filepath.Base(file)
	subject := cdx.Component{BOMRef: name, Type: cdx.ComponentTypeApplication, Name: "warren", Version: a.version,
		Description: name, Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}},
		PackageURL: purl(packageurl.TypeGolang, a.info.Path, a.version)}
	parts := make([]string, len(components))
	dependencies := []cdx.Dependency{{Ref: name, Dependencies: &parts}}
	for i, c := range components {
		parts[i] = c.BOMRef
	}
	bom := cdx.NewBOM()
	bom.SerialNumber = serial(sum)
	bom.Metadata = &cdx.Metadata{Timestamp: a.made.Format(time.RFC3339), Component: &subject}
	bom.Components, bom.Dependencies = &components, &dependencies
	out, err := os.Create(file + sbomSuffix)
	if err != nil {
		return err
	}
	err = cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return errors.Join(err, out.Close())
}

func sumOf(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}

// serial is an UUID of the kind that is made of anything, here of the artefact.
func serial(sum []byte) string {
	u := slices.Clone(sum[:16])
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

func componentsOf(a *archive) ([]cdx.Component, error) {
	licences, others, err := readNotices(filepath.Join(a.root, "THIRD_PARTY_NOTICES"))
	if err != nil {
		return nil, err
	}
	var all []cdx.Component
	add := func(software, url string, hash []byte) {
		_, version, _ := strings.Cut(software, " ")
		c := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, PackageURL: url, Version: version,
			Name: strings.TrimSuffix(software, " "+version), Licenses: licencesOf(licences[software])}
		if hash != nil {
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(hash)}}
		}
		all = append(all, c)
	}
	add("Go "+a.info.GoVersion, purl(packageurl.TypeGolang, "std", strings.TrimPrefix(a.info.GoVersion, "go")), nil)
	for _, m := range thirdParty(a.info) {
		hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		add(m.Path+" "+m.Version, purl(packageurl.TypeGolang, m.Path, m.Version), hash)
	}
	for _, software := range others {
		name, version, _ := strings.Cut(software, " ")
		add(software, purl(packageurl.TypeNPM, name, version), nil)
	}
	return all, nil
}

// thirdParty are the modules of others that a binary is made of.
func thirdParty(info *debug.BuildInfo) (all []*debug.Module) {
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if !strings.HasPrefix(m.Path, info.Main.Path+"/") {
			all = append(all, m)
		}
	}
	return all
}

func purl(kind, name, version string) string {
	namespace, name := path.Split(name)
	return packageurl.NewPackageURL(kind, strings.TrimSuffix(namespace, "/"), name, version, nil, "").ToString()
}

// readNotices returns the licences of each software in a file of notices, at least one for each: the text of its main
// licence. others are those that are neither Go nor a module, in their order.
func readNotices(file string) (licences map[string]string, others []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	licences = map[string]string{}
	var text *strings.Builder
	var software string
	keep := func() {
		if text != nil && licences[software] == "" {
			licences[software] = text.String()
		}
		text = nil
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch {
		case len(words) == 4 && words[0] == "===":
			keep()
			software = words[1] + " " + words[2]
			if isLicence(words[3]) {
				text = new(strings.Builder)
			}
			if !strings.Contains(words[1], "/") && words[1] != "Go" && !slices.Contains(others, software) {
				others = append(others, software)
			}
		case text != nil:
			text.WriteString(lines.Text() + "\n")
		}
	}
	keep()
	return licences, others, lines.Err()
}

// isLicence tells the licence of a whole software from notices, patents and the licences of its parts.
func isLicence(name string) bool {
	return !strings.Contains(name, "/") && !strings.EqualFold(name, "NOTICE") && !strings.EqualFold(name, "PATENTS")
}

// licencesOf are the licences that a text has, by their ids of SPDX.
func licencesOf(text string) *cdx.Licenses {
	var all cdx.Licenses
	var seen []string
	for _, m := range licensecheck.Scan([]byte(text)).Match {
		if !m.IsURL && !slices.Contains(seen, m.ID) {
			seen = append(seen, m.ID)
			all = append(all, cdx.LicenseChoice{License: &cdx.License{ID: m.ID}})
		}
	}
	if len(all) == 0 {
		all = append(all, cdx.LicenseChoice{License: &cdx.License{Name: "see THIRD_PARTY_NOTICES"}})
	}
	return &all
}
