// Package beside runs the tests of a package beside a server in their process.
package beside

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed94657493/warren/server/embed"
)

// Main runs the tests while there is a server, whose address it has put into addr, and returns the exit code. Tests
// that leave a goroutine behind have failed.
func Main(m *testing.M, options embed.Options, addr *string) int {
	e, err := embed.New(options)
	if err != nil {
		panic(err)
	}
	*addr = e.Addr(1)
	code := m.Run()
	e.Close()
	if err := goleak.Find(); err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}
