package modules

import (
	"os"
	"path/filepath"
)

// Environment returns the environment of a go command that takes own modules from a proxy made of files, and has a
// module cache of its own: a version that is not published must not stay in a cache where the published one would be
// looked for. The other proxies are asked for what is not there. Nothing asks the checksum database, which knows
// published versions only.
func Environment(proxy, cache string, others ...string) []string {
	list := "file://" + filepath.ToSlash(proxy)
	for _, other := range others {
		list += "," + other
	}
	return append(os.Environ(), "GOWORK=off", "GOPROXY="+list, "GOMODCACHE="+cache, "CGO_ENABLED=0",
		// With other flags than the caller's, or with the profile of the command, all would be compiled once more.
		"GOFLAGS="+os.Getenv("GOFLAGS")+" -modcacherw -pgo=off",
		"GOSUMDB=off", "GOPRIVATE=", "GONOPROXY=", "GONOSUMDB=", "GOTOOLCHAIN=local")
}

// CacheProxy returns the module cache of the go command as a proxy, which has what this machine has built from.
func CacheProxy(goModCache string) string {
	return "file://" + filepath.ToSlash(filepath.Join(goModCache, "cache", "download"))
}
