// Package modules makes of the work tree what a module proxy makes of a commit: for each Go module of this repository
// its go.mod, its zip file and its checksums. It needs no network, and the versions need not be published.
//
// Its tests are programs that require the modules through such a proxy: what they get besides, whether they compile,
// and whether the command can be installed. Programs whose dependencies import go-zookeeper, and have client/zk
// instead, need the network to get these dependencies: the flag -modules.network. The program release writes a proxy
// for a release.
package modules
