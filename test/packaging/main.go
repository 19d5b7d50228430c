// Command packaging makes of the archives that test/archives has written what package managers and container engines
// install: a deb, an rpm and an image for each architecture of Linux, and an SBOM for each file. Its output depends on
// the archives and the commit only: versions and times are theirs.
//
// With -push it makes nothing, and pushes the image to a registry.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("packaging: ")
	o := options{}
	flag.StringVar(&o.dist, "dist", "../../dist", "the folder of the archives, and of what is made of them")
	flag.StringVar(&o.scripts, "scripts", "scripts", "the folder of the scripts that a package has")
	flag.StringVar(&o.revision, "revision", "", "the commit")
	to := flag.String("push", "", "push the image of dist to this name, without a tag")
	flag.Parse()
	var err error
	if *to != "" {
		err = push(o.dist, *to)
	} else {
		err = o.run()
	}
	if err != nil {
		log.Fatal(err)
	}
}

type options struct{ dist, scripts, revision string }

func (o options) run() error {
	scratch, err := os.MkdirTemp("", "warren-packaging-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	archives, err := openArchives(o.dist, scratch)
	if err != nil {
		return err
	}
	var linux []*archive
	for _, a := range archives {
		files := []string{a.file}
		if a.os == "linux" {
			linux = append(linux, a)
			made, err := writePackages(a, o.dist, o.scripts)
			if err != nil {
				return err
			}
			files = append(files, made...)
		}
		if err := writeSBOMs(files, a); err != nil {
			return fmt.Errorf("%s: %w", a.file, err)
		}
	}
	images, err := writeImages(linux, o.dist, o.revision, filepath.Join(scratch, "layout"))
	if err != nil {
		return err
	}
	return writeSBOMs(images, linux...)
}
