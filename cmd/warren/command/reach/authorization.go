package reach

import (
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/seed94657493/warren/cmd/warren/command/cli"
	"github.com/seed94657493/warren/cmd/warren/wording"
)

// authFile is the flag for the file with the header Authorization.
const authFile = "auth-file"

// AddAuthFile adds the flag that names the file with the header Authorization for admin servers. A file that cannot be
// used is refused before the command runs.
func AddAuthFile(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, authFile, "", "file with the credentials, such as: super:password")
	cli.Before(cmd, func() error {
		_, err := Authorization(*file)
		return err
	})
}

// Authorization reads the header Authorization from a file; "" for no file. The name of the header may stand before
// it, and USER:PASSWORD alone is of scheme digest.
func Authorization(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", wording.File("--"+authFile, file, err)
	}
	header := strings.TrimSpace(string(text))
	if name, value, ok := strings.Cut(header, ":"); ok && strings.EqualFold(name, "Authorization") {
		header = strings.TrimSpace(value)
	}
	if first, _, _ := strings.Cut(header, " "); strings.Contains(first, ":") {
		header = "digest " + header
	}
	if header == "" || strings.ContainsFunc(header, unicode.IsControl) {
		return "", wording.File("--"+authFile, file, fmt.Errorf("%s must be one line, such as: super:password", file))
	}
	return header, nil
}
