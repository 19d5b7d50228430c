package reach

import (
	"os"
	"strings"
)

// ClientFlags are the -Dkey=value tokens of CLIENT_JVMFLAGS, as a client configuration has them.
func ClientFlags() string {
	var b strings.Builder
	for _, token := range strings.Fields(os.Getenv("CLIENT_JVMFLAGS")) {
		if setting, ok := strings.CutPrefix(token, "-D"); ok && strings.Contains(setting, "=") {
			b.WriteString(setting + "\n")
		}
	}
	return b.String()
}
