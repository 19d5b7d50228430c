package main

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// imagesOf are the images of the layout in dist, by their architecture.
func imagesOf(t *testing.T) (index v1.ImageIndex, images map[string]v1.Image, version string) {
	t.Helper()
	index, version, err := openLayout(artefacts(t, "*-oci.tar", 1)[0], t.TempDir())
	must(t, err)
	m := mustGet(index.IndexManifest())(t)
	images = map[string]v1.Image{}
	for _, d := range m.Manifests {
		image := mustGet(index.Image(d.Digest))(t)
		if d.Platform.OS != "linux" {
			t.Errorf("an image for %s", d.Platform)
		}
		images[d.Platform.Architecture] = image
	}
	if len(images) != 2 || images["amd64"] == nil || images["arm64"] == nil {
		t.Fatalf("%d images", len(images))
	}
	return index, images, version
}

// The images are whole, alike for `docker load` and for registries, of the time of the commit, and no more than the
// binary: there is no shell in them, and nothing else that a user could start.
func TestImages(t *testing.T) {
	index, images, version := imagesOf(t)
	must(t, validate.Index(index))
	for _, a := range archives(t) {
		if a.os != "linux" {
			continue
		}
		image := images[a.arch]
		file := mustGet(image.ConfigFile())(t)
		if file.OS != "linux" || file.Architecture != a.arch || !file.Created.Equal(a.made) {
			t.Errorf("%s/%s of %s, want %s of %s", file.OS, file.Architecture, file.Created, a.arch, a.made)
		}
		for label, want := range map[string]string{"version": version, "licenses": "Apache-2.0", "title": "warren",
			"created": a.made.Format(time.RFC3339), "source": "https://github.com/seed94657493/warren"} {
			if got := file.Config.Labels["org.opencontainers.image."+label]; got != want {
				t.Errorf("label %s is %q, want %q", label, got, want)
			}
		}
		tag := mustGet(name.NewTag("warren:" + version))(t)
		loaded := mustGet(tarball.ImageFromPath(artefacts(t, "*-docker-"+a.arch+".tar", 1)[0], &tag))(t)
		ours := mustGet(image.ConfigName())(t)
		theirs := mustGet(loaded.ConfigName())(t)
		if ours != theirs {
			t.Errorf("%s: %s is loaded, %s is pushed", a.arch, theirs, ours)
		}
		binary := mustGet(os.ReadFile(a.binary()))(t)
		var started []string
		eachFile(t, image, func(h *tar.Header, content []byte) {
			if !h.ModTime.Equal(a.made) {
				t.Errorf("%s is of %s", h.Name, h.ModTime)
			}
			if h.Typeflag != tar.TypeDir && h.Mode&0o111 != 0 {
				started = append(started, h.Name)
			}
			if h.Name == "usr/local/bin/warren" && string(content) != string(binary) {
				t.Errorf("%s: the binary differs from that of the archive", a.arch)
			}
		})
		want := []string{"usr/local/bin/warren"}
		for _, s := range scripts {
			want = append(want, "usr/local/bin/"+s+".sh")
		}
		slices.Sort(started)
		slices.Sort(want)
		if !slices.Equal(started, want) {
			t.Errorf("it can start %q, want %q", started, want)
		}
	}
}

// eachFile calls do for what is in the layers of an image.
func eachFile(t *testing.T, image v1.Image, do func(*tar.Header, []byte)) {
	t.Helper()
	layers := mustGet(image.Layers())(t)
	for _, l := range layers {
		r := mustGet(l.Uncompressed())(t)
		for files := tar.NewReader(r); ; {
			h, err := files.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			must(t, err)
			content := mustGet(io.ReadAll(files))(t)
			do(h, content)
		}
		must(t, r.Close())
	}
}

// A container that is made by deploy/docker/Dockerfile and one of these images are the same to those who use them.
func TestImageIsThatOfTheDockerfile(t *testing.T) {
	text := mustGet(os.ReadFile("../../deploy/docker/Dockerfile"))(t)
	joined := strings.ReplaceAll(string(text), "\\\n", " ")
	build, last, found := strings.Cut(joined, "FROM scratch\n")
	if !found {
		t.Fatal("the image of the Dockerfile is not from scratch")
	}
	_, images, _ := imagesOf(t)
	file := mustGet(images["amd64"].ConfigFile())(t)
	c := file.Config
	var want v1.Config
	want.Volumes, want.ExposedPorts = map[string]struct{}{}, map[string]struct{}{}
	words := func(text string) (all []string) {
		must(t, json.Unmarshal([]byte(text), &all))
		return all
	}
	for line := range strings.Lines(last) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "ENV":
			want.Env = strings.Fields(rest)
		case "USER":
			want.User = rest
		case "WORKDIR":
			want.WorkingDir = rest
		case "VOLUME":
			for _, v := range words(rest) {
				want.Volumes[v] = struct{}{}
			}
		case "EXPOSE":
			for _, p := range strings.Fields(rest) {
				want.ExposedPorts[p+"/tcp"] = struct{}{}
			}
		case "CMD":
			want.Cmd = words(rest)
		case "HEALTHCHECK":
			flags, command, _ := strings.Cut(rest, " CMD ")
			want.Healthcheck = &v1.HealthConfig{Test: append([]string{"CMD"}, words(command)...), Retries: 3}
			for flag, to := range map[string]*time.Duration{"interval": &want.Healthcheck.Interval,
				"timeout": &want.Healthcheck.Timeout, "start-period": &want.Healthcheck.StartPeriod} {
				m := regexp.MustCompile(`--` + flag + `=(\S+)`).FindStringSubmatch(flags)
				*to = mustGet(time.ParseDuration(m[1]))(t)
			}
			if !strings.Contains(flags, "--retries=3") {
				t.Errorf("HEALTHCHECK %s", flags)
			}
		case "", "#", "COPY":
		default:
			if !strings.HasPrefix(name, "#") {
				t.Errorf("instruction %s is unknown to this test", name)
			}
		}
	}
	want.Labels = c.Labels
	ours := mustGet(json.Marshal(c))(t)
	theirs := mustGet(json.Marshal(want))(t)
	if string(ours) != string(theirs) {
		t.Errorf("ours is\n%s\nthat of the Dockerfile is\n%s", ours, theirs)
	}

	owners := map[string]string{}
	eachFile(t, images["amd64"], func(h *tar.Header, content []byte) {
		owners[strings.TrimSuffix(h.Name, "/")] = strings.Join([]string{h.FileInfo().Mode().String(),
			string(rune('0' + h.Uid/1000)), string(rune('0' + h.Uid%1000)), string(rune('0' + h.Gid))}, " ")
		if h.Name == "etc/passwd" || h.Name == "etc/group" {
			for line := range strings.Lines(string(content)) {
				if !strings.Contains(build, "echo '"+strings.TrimSpace(line)+"' >") {
					t.Errorf("%s has %q, that of the Dockerfile has not", h.Name, line)
				}
			}
		}
	})
	for name, want := range map[string]string{"data": "drwxrwxr-x 1 0 0", "conf": "drwxrwxr-x 1 0 0",
		"logs": "drwxrwxr-x 1 0 0", "datalog": "drwxrwxr-x 1 0 0", "bitnami/zookeeper/data": "drwxrwxr-x 1 1 0",
		"opt/bitnami/zookeeper/conf": "drwxrwxr-x 1 1 0", "tmp": "dtrwxrwxrwx 0 0 0",
		"usr/local/bin": "drwxr-xr-x 0 0 0"} {
		if owners[name] != want {
			t.Errorf("%s is %q, want %q", name, owners[name], want)
		}
	}
	links := regexp.MustCompile(`for name in (.*?); do ln -s`).FindStringSubmatch(build)
	if len(links) != 2 || !slices.Equal(sorted(strings.Fields(links[1])), sorted(scripts)) {
		t.Errorf("the Dockerfile links %q", links)
	}
}

func sorted(words []string) []string { return slices.Sorted(slices.Values(words)) }

// What is pushed to a registry is what is in dist, under the version alone if that is no release.
func TestPush(t *testing.T) {
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	host := strings.TrimPrefix(s.URL, "http://")
	must(t, push(dist, host+"/somebody/warren"))
	index, _, version := imagesOf(t)
	want := mustGet(index.Digest())(t)
	ref := mustGet(name.ParseReference(host + "/somebody/warren:" + version))(t)
	pushed := mustGet(remote.Index(ref))(t)
	if got, err := pushed.Digest(); err != nil || got != want {
		t.Errorf("%s, want %s: %v", got, want, err)
	}
	must(t, validate.Index(pushed))
	tags := mustGet(remote.List(ref.Context()))(t)
	release := regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(version)
	if release != slices.Contains(tags, "latest") {
		t.Errorf("version %s has tags %q", version, tags)
	}
}

// rootOfImage unpacks the layers of an image.
func rootOfImage(t *testing.T, image v1.Image) string {
	t.Helper()
	root := t.TempDir()
	layers := mustGet(image.Layers())(t)
	for _, l := range layers {
		r := mustGet(l.Uncompressed())(t)
		must(t, extract(r, root))
		must(t, r.Close())
	}
	must(t, os.Chmod(root, 0o755))
	return filepath.Clean(root)
}
