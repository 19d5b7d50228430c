// Package s3 takes backups to a real server of S3 and restores them. It is a module of its own, which the workspace
// does not name: that server, versitygw, has many requirements and takes minutes to build, and no program and no other
// test needs it. `make s3` runs it. Goroutines end with their test.
package s3
