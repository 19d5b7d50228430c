package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// writePackages makes a deb and an rpm of an archive for Linux, and returns their files.
func writePackages(a *archive, dist, scripts string) (made []string, err error) {
	for _, format := range []string{"deb", "rpm"} {
		packager, err := nfpm.Get(format)
		if err != nil {
			return nil, err
		}
		info := describe(a, scripts)
		info.Target = filepath.Join(dist, packager.ConventionalFileName(info))
		out, err := os.Create(info.Target)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(packager.Package(info, out), out.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", info.Target, err)
		}
		made = append(made, info.Target)
	}
	return made, nil
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

func describe(a *archive, scripts string) *nfpm.Info {
	var contents files.Contents
	add := func(from, to, kind string, mode os.FileMode) {
		contents = append(contents, &files.Content{Source: filepath.Join(a.root, from), Destination: to, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: a.made}})
	}
	add("bin/warren", "/usr/bin/warren", files.TypeFile, 0o755)
	add("LICENSE", "/usr/share/doc/warren/copyright", files.TypeFile, 0o644)
	add("THIRD_PARTY_NOTICES", "/usr/share/doc/warren/THIRD_PARTY_NOTICES", files.TypeFile, 0o644)
	add("share/man/man1/*.1", "/usr/share/man/man1/", files.TypeFile, 0o644)
	for _, unit := range []string{"warren.service", "warren-backup.service", "warren-backup.timer"} {
		add("deploy/systemd/"+unit, "/usr/lib/systemd/system/"+unit, files.TypeFile, 0o644)
	}
	add("deploy/systemd/warren.sysusers", "/usr/lib/sysusers.d/warren.conf", files.TypeFile, 0o644)
	add("deploy/systemd/warren.tmpfiles", "/usr/lib/tmpfiles.d/warren.conf", files.TypeFile, 0o644)
	add("deploy/systemd/zoo.cfg", "/etc/warren/zoo.cfg", files.TypeConfigNoReplace, 0o644)
	add("deploy/completion/warren.bash", "/usr/share/bash-completion/completions/warren", files.TypeFile, 0o644)
	add("deploy/completion/_warren", "/usr/share/zsh/site-functions/_warren", files.TypeFile, 0o644)
	add("deploy/completion/warren.fish", "/usr/share/fish/vendor_completions.d/warren.fish", files.TypeFile, 0o644)
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "warren", Arch: a.arch, Platform: "linux", MTime: a.made,
		Version: packageVersion(a.version), VersionSchema: "none", Release: "1",
		Section: "net", Priority: "optional", License: "Apache-2.0",
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
