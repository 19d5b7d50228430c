package facts

import (
	"fmt"
	"math"
	"os"
	"runtime"

	"github.com/seed94657493/warren/server/config"
	"github.com/seed94657493/warren/server/internal/audit"
	"github.com/seed94657493/warren/server/internal/env"
)

// Environment returns the lines of envi, in its order.
func (f *Facts) Environment() (all []config.Property) {
	line := func(key, value string) { all = append(all, config.Property{Name: key, Value: value}) }
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	host, _ := os.Hostname()
	home, _ := os.UserHomeDir()
	wd, _ := os.Getwd()
	limit := uint64(MemoryLimit())
	if limit == math.MaxInt64 {
		limit = mem.Sys // of a system that does not tell
	}
	line("zookeeper.version", f.Version)
	line("host.name", host)
	for _, key := range []string{"version", "vendor", "home", "class.path", "library.path", "compiler"} {
		line("java."+key, "n/a")
	}
	line("java.io.tmpdir", os.TempDir())
	line("os.name", runtime.GOOS)
	line("os.arch", runtime.GOARCH)
	line("os.version", kernelVersion())
	line("user.name", audit.ProcessUser())
	line("user.home", home)
	line("user.dir", wd)
	for _, prefix := range []string{"os.memory.", "jvm.memory."} {
		line(prefix+"free", megabytes(mem.HeapIdle))
		line(prefix+"max", megabytes(limit))
		line(prefix+"total", megabytes(mem.Sys))
	}
	return all
}

func megabytes(n uint64) string { return fmt.Sprintf("%dMB", n>>20) }

// SystemProperties returns the settings in force, by the names of Java's system properties, secrets masked.
func (f *Facts) SystemProperties() []config.Property {
	wd, _ := os.Getwd()
	home, _ := os.UserHomeDir()
	return append([]config.Property{
		{Name: "os.arch", Value: runtime.GOARCH}, {Name: "os.name", Value: runtime.GOOS},
		{Name: "os.version", Value: kernelVersion()}, {Name: "user.dir", Value: wd},
		{Name: "user.home", Value: home}, {Name: "user.name", Value: audit.ProcessUser()},
	}, f.Config.Properties()...)
}

// MemoryLimit is how many bytes this process may have.
func MemoryLimit() int64 { return env.Memory() }
