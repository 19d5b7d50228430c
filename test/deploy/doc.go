// Package deploy holds what is under deploy to what the program does: the container image to the variables that a
// server reads, the units of systemd and the manifests of Kubernetes to its ports, folders, exit codes and probes,
// the completions to its commands; and the workflows of the forge to the targets that they make.
//
// Manifests are decoded into structures that know only the fields in use, so that a field that is misspelled is an
// error. That is no check against Kubernetes' own schema. No container is built or started: the test starts this
// program in the environment that the Dockerfile describes, with folders and ports of its own.
package deploy
