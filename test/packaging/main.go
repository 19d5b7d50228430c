// Command packaging makes a deb and an rpm of each archive for Linux that .ci/release has written, and lists all files
// in SHA256SUMS. Its output depends on the archives only: versions and times are theirs.
package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("packaging: ")
	dist := flag.String("dist", "../../dist", "the folder of the archives, and of what is made of them")
	scripts := flag.String("scripts", "scripts", "the folder of the scripts that a package has")
	flag.Parse()
	if err := run(*dist, *scripts); err != nil {
		log.Fatal(err)
	}
}

var archiveName = regexp.MustCompile(`^warren-(.+)-linux-([a-z0-9]+)\.tar\.gz$`)

func run(dist, scripts string) error {
	archives, err := filepath.Glob(filepath.Join(dist, "warren-*-linux-*.tar.gz"))
	if err != nil {
		return err
	}
	if len(archives) == 0 {
		return fmt.Errorf("no archive for Linux in %s: make release writes them", dist)
	}
	for _, a := range archives {
		if err := packages(a, dist, scripts); err != nil {
			return fmt.Errorf("%s: %w", a, err)
		}
	}
	return writeSums(dist)
}

func packages(archive, dist, scripts string) error {
	m := archiveName.FindStringSubmatch(filepath.Base(archive))
	if m == nil {
		return errors.New("its name has no version and architecture")
	}
	root, err := os.MkdirTemp("", "warren-packaging-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	made, err := unpack(archive, root)
	if err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		info := describe(root, scripts, packageVersion(m[1]), m[2], made)
		info.Target = filepath.Join(dist, packager.ConventionalFileName(info))
		out, err := os.Create(info.Target)
		if err != nil {
			return err
		}
		if err := errors.Join(packager.Package(info, out), out.Close()); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
	}
	return nil
}

var sinceTag = regexp.MustCompile(`-(\d+)-g([0-9a-f]+)`)

// packageVersion is the version that `git describe` tells, in an order that dpkg and rpm share: what comes after a tag
// is later than it, a candidate is earlier, and a commit without any tag is the earliest.
func packageVersion(v string) string {
	v = strings.TrimPrefix(v, "v")
	if !strings.Contains(v, ".") {
		v = "0~" + v
	}
	v = sinceTag.ReplaceAllString(v, "+$1.g$2")
	v = strings.Replace(v, "-dirty", "+dirty", 1)
	return strings.ReplaceAll(v, "-", "~")
}

func describe(root, scripts, version, arch string, made time.Time) *nfpm.Info {
	var contents files.Contents
	add := func(from, to, kind string, mode os.FileMode) {
		contents = append(contents, &files.Content{Source: filepath.Join(root, from), Destination: to, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: made}})
	}
	add("bin/warren", "/usr/bin/warren", files.TypeFile, 0o755)
	add("LICENSE", "/usr/share/doc/warren/copyright", files.TypeFile, 0o644)
	add("share/man/man1/*.1", "/usr/share/man/man1/", files.TypeFile, 0o644)
	add("deploy/systemd/warren.service", "/usr/lib/systemd/system/warren.service", files.TypeFile, 0o644)
	add("deploy/systemd/warren.sysusers", "/usr/lib/sysusers.d/warren.conf", files.TypeFile, 0o644)
	add("deploy/systemd/warren.tmpfiles", "/usr/lib/tmpfiles.d/warren.conf", files.TypeFile, 0o644)
	add("deploy/systemd/zoo.cfg", "/etc/warren/zoo.cfg", files.TypeConfigNoReplace, 0o644)
	add("deploy/completion/warren.bash", "/usr/share/bash-completion/completions/warren", files.TypeFile, 0o644)
	add("deploy/completion/_warren", "/usr/share/zsh/site-functions/_warren", files.TypeFile, 0o644)
	add("deploy/completion/warren.fish", "/usr/share/fish/vendor_completions.d/warren.fish", files.TypeFile, 0o644)
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "warren", Arch: arch, Platform: "linux", Version: version, VersionSchema: "none", Release: "1",
		Section: "net", Priority: "optional", License: "Apache-2.0", MTime: made,
		Maintainer:  "The Warren project <noreply@github.com>",
		Homepage:    "https://github.com/seed94657493/warren",
		Description: "Replicated coordination service that replaces Apache ZooKeeper",
		Overridables: nfpm.Overridables{
			Contents: contents,
			Scripts: nfpm.Scripts{
				PostInstall: filepath.Join(scripts, "postinstall"),
				PreRemove:   filepath.Join(scripts, "preremove"),
			},
		},
	})
	info.RPM.BuildHost = "localhost" // the name of the machine would differ
	return info
}

// unpack writes the files of an archive below root, without the folder that they all lie in, and returns their time.
func unpack(archive, root string) (time.Time, error) {
	var made time.Time
	f, err := os.Open(archive)
	if err != nil {
		return made, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return made, err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return made.UTC(), nil
		}
		if err != nil {
			return made, err
		}
		_, name, _ := strings.Cut(path.Clean(h.Name), "/")
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(name) {
			continue
		}
		made = h.ModTime
		to := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return made, err
		}
		out, err := os.Create(to)
		if err != nil {
			return made, err
		}
		_, err = io.Copy(out, r)
		if err := errors.Join(err, out.Close()); err != nil {
			return made, err
		}
	}
}

func writeSums(dist string) error {
	var sums strings.Builder
	for _, pattern := range []string{"*.deb", "*.rpm", "*.tar.gz"} {
		names, err := filepath.Glob(filepath.Join(dist, pattern))
		if err != nil {
			return err
		}
		for _, name := range names {
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			h := sha256.New()
			_, err = io.Copy(h, f)
			if err := errors.Join(err, f.Close()); err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", h.Sum(nil), filepath.Base(name))
		}
	}
	return os.WriteFile(filepath.Join(dist, "SHA256SUMS"), []byte(sums.String()), 0o644)
}
