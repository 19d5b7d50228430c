package reach

import (
	"os"
	"strings"

	"github.com/seed94657493/warren/cmd/warren/shell"
)

// JavaFlags are the -Dkey=value tokens of variables with flags for Java, as settings of a client.
func JavaFlags(variables ...string) (all []shell.Setting) {
	for _, name := range variables {
		for _, token := range strings.Fields(os.Getenv(name)) {
			if flag, ok := strings.CutPrefix(token, "-D"); ok {
				key, value, _ := strings.Cut(flag, "=")
				all = append(all, shell.Setting{Key: key, Value: value, By: name})
			}
		}
	}
	return all
}
