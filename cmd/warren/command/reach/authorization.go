package reach

import (
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/spf13/pflag"
)

// AddAuthFile adds the flag that names the file with the header Authorization for admin servers.
func AddAuthFile(flags *pflag.FlagSet, file *string) {
	flags.StringVar(file, "auth-file", "", "file with the credentials, such as: super:password")
}

// Authorization reads the header Authorization from a file; "" for no file. The name of the header may stand before
// it, and USER:PASSWORD alone is of scheme digest.
func Authorization(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("--auth-file: %w", err)
	}
	header := strings.TrimSpace(string(text))
	if name, value, ok := strings.Cut(header, ":"); ok && strings.EqualFold(name, "Authorization") {
		header = strings.TrimSpace(value)
	}
	if first, _, _ := strings.Cut(header, " "); strings.Contains(first, ":") {
		header = "digest " + header
	}
	if header == "" || strings.ContainsFunc(header, unicode.IsControl) {
		return "", fmt.Errorf("--auth-file: %s must be one line, such as: super:password", file)
	}
	return header, nil
}
