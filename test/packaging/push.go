package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push sends the images of the layout in dist to a registry: under their version, and as latest unless that is a
// candidate. Who may do that is in Docker's configuration.
func push(dist, to string) error {
	files, err := filepath.Glob(filepath.Join(dist, "warren-*-oci.tar"))
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return fmt.Errorf("%d layouts in %s, not one: make dist writes it", len(files), dist)
	}
	scratch, err := os.MkdirTemp("", "warren-push-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	index, version, err := openLayout(files[0], scratch)
	if err != nil {
		return fmt.Errorf("%s: %w", files[0], err)
	}
	tags := []string{version}
	if strings.HasPrefix(version, "v") && !strings.Contains(version, "-") {
		tags = append(tags, "latest")
	}
	for _, tag := range tags {
		ref, err := name.NewTag(to+":"+tag, name.StrictValidation)
		if err != nil {
			return err
		}
		if err := remote.WriteIndex(ref, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			return err
		}
		fmt.Println(ref)
	}
	return nil
}

// openLayout returns the one index in a layout, and its version.
func openLayout(file, scratch string) (index v1.ImageIndex, version string, err error) {
	if err := untarFolder(file, scratch); err != nil {
		return nil, "", err
	}
	path, err := layout.FromPath(scratch)
	if err != nil {
		return nil, "", err
	}
	outer, err := path.ImageIndex()
	if err != nil {
		return nil, "", err
	}
	m, err := outer.IndexManifest()
	if err != nil {
		return nil, "", err
	}
	if len(m.Manifests) != 1 {
		return nil, "", fmt.Errorf("it has %d indexes", len(m.Manifests))
	}
	index, err = outer.ImageIndex(m.Manifests[0].Digest)
	return index, m.Manifests[0].Annotations["org.opencontainers.image.ref.name"], err
}
