package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// scripts are the names of ZooKeeper's scripts that the binary knows.
var scripts = []string{"zkServer", "zkCli", "zkServer-initialize", "zkCleanup", "zkTxnLogToolkit", "zkSnapShotToolkit",
	"zkSnapshotRecursiveSummaryToolkit", "zkSnapshotComparer"}

// The image is that of deploy/docker/Dockerfile: a test compares them.
const (
	passwd = "root:x:0:0:root:/:\nzookeeper:x:1000:1000:ZooKeeper:/data:\n" +
		"bitnami:x:1001:0:Bitnami ZooKeeper:/bitnami/zookeeper:\n"
	group = "root:x:0:\nzookeeper:x:1000:\n"
)

func config(a *archive, revision string) v1.Config {
	return v1.Config{
		Env:          []string{"PATH=/usr/local/bin", "ZOO_CONF_DIR=/conf", "ZOO_DATA_DIR=/data", "ZOO_LOG_DIR=/logs"},
		User:         "1000:1000",
		WorkingDir:   "/data",
		Volumes:      map[string]struct{}{"/data": {}, "/datalog": {}, "/logs": {}},
		ExposedPorts: map[string]struct{}{"2181/tcp": {}, "2888/tcp": {}, "3888/tcp": {}, "8080/tcp": {}},
		Cmd:          []string{"warren", "server"},
		// Engines that know the format of Docker only by OCI's specification leave this out.
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "warren", "health", "--process"},
			Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: time.Minute, Retries: 3},
		Labels: labels(a, revision),
	}
}

func labels(a *archive, revision string) map[string]string {
	const of = "org.opencontainers.image."
	return map[string]string{
		of + "title":         "warren",
		of + "description":   "Replicated coordination service that replaces Apache ZooKeeper",
		of + "version":       a.version,
		of + "revision":      revision,
		of + "created":       a.made.Format(time.RFC3339),
		of + "licenses":      "Apache-2.0",
		of + "url":           "https://github.com/seed94657493/warren",
		of + "source":        "https://github.com/seed94657493/warren",
		of + "documentation": "https://github.com/seed94657493/warren/blob/main/docs/INSTALL.md",
	}
}

// writeImages writes an image of each archive for `docker load`, and a layout with all of them for registries.
func writeImages(archives []*archive, dist, revision, scratch string) (made []string, err error) {
	if len(archives) == 0 {
		return nil, errors.New("no archive for Linux")
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, a := range archives {
		image, err := imageOf(a, revision)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: a.os, Architecture: a.arch}}})
		tag, err := name.NewTag("warren:" + a.version)
		if err != nil {
			return nil, err
		}
		file := filepath.Join(dist, fmt.Sprintf("warren-%s-docker-%s.tar", a.version, a.arch))
		if err := tarball.WriteToFile(file, tag, image); err != nil {
			return nil, err
		}
		made = append(made, file)
	}
	a := archives[0]
	index = mutate.Annotations(index, labels(a, revision)).(v1.ImageIndex)
	path, err := layout.Write(scratch, empty.Index)
	if err != nil {
		return nil, err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": a.version,
	})); err != nil {
		return nil, err
	}
	file := filepath.Join(dist, fmt.Sprintf("warren-%s-oci.tar", a.version))
	return append(made, file), tarFolder(file, scratch, a.made)
}

func imageOf(a *archive, revision string) (v1.Image, error) {
	fsys, err := rootOf(a)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(fsys)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer,
		History: v1.History{Created: v1.Time{Time: a.made}, CreatedBy: "warren " + a.version}}); err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = a.os, a.arch, v1.Time{Time: a.made}
	file.Config = config(a, revision)
	if image, err = mutate.ConfigFile(image, file); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, file.Config.Labels).(v1.Image), nil
}

// rootOf is the root file system of the image as a tar.
func rootOf(a *archive) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	put := func(h tar.Header, content []byte) error {
		h.Format, h.ModTime, h.Size = tar.FormatUSTAR, a.made, int64(len(content))
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	}
	var errs []error
	folder := func(name string, mode int64, uid int) {
		errs = append(errs, put(tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: mode, Uid: uid}, nil))
	}
	file := func(name string, mode int64, content []byte, err error) {
		errs = append(errs, err, put(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode}, content))
	}
	read := func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(a.root, name)) }

	// Folders that any user of group 0 may write to, so that the image runs under whatever id a cluster assigns; those
	// of Bitnami's image are for its variables and volumes, and for its user 1001.
	for _, name := range []string{"conf", "data", "datalog", "logs"} {
		folder(name, 0o775, 1000)
	}
	for _, name := range []string{"bitnami", "bitnami/zookeeper", "bitnami/zookeeper/data",
		"opt", "opt/bitnami", "opt/bitnami/zookeeper", "opt/bitnami/zookeeper/conf"} {
		folder(name, 0o775, 1001)
	}
	folder("tmp", 0o1777, 0)
	for _, name := range []string{"etc", "usr", "usr/local", "usr/local/bin", "usr/share", "usr/share/doc",
		"usr/share/doc/warren"} {
		folder(name, 0o755, 0)
	}
	file("etc/passwd", 0o644, []byte(passwd), nil)
	file("etc/group", 0o644, []byte(group), nil)
	for _, name := range []string{"LICENSE", "THIRD_PARTY_NOTICES"} {
		content, err := read(name)
		file("usr/share/doc/warren/"+name, 0o644, content, err)
	}
	content, err := os.ReadFile(a.binary())
	file("usr/local/bin/warren", 0o755, content, err)
	for _, name := range scripts {
		errs = append(errs, put(tar.Header{Typeflag: tar.TypeSymlink, Name: "usr/local/bin/" + name + ".sh",
			Linkname: "warren", Mode: 0o777}, nil))
	}
	return b.Bytes(), errors.Join(append(errs, w.Close())...)
}

// tarFolder writes a tar of the files of a folder.
func tarFolder(to, folder string, made time.Time) error {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	w := tar.NewWriter(out)
	err = filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == folder {
			return err
		}
		below, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		h := &tar.Header{Format: tar.FormatUSTAR, Name: filepath.ToSlash(below), Mode: 0o644, ModTime: made}
		if d.IsDir() {
			h.Typeflag, h.Mode, h.Name = tar.TypeDir, 0o755, h.Name+"/"
			return w.WriteHeader(h)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		h.Typeflag, h.Size = tar.TypeReg, int64(len(content))
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	return errors.Join(err, w.Close(), out.Close())
}
