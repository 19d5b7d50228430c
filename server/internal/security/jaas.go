package security

import (
	"fmt"

	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/wal/vfs"
)

// ReadJAAS reads a JAAS file, which has sections for clients and for the servers among themselves.
func ReadJAAS(fs vfs.FS, name string) (sasl.JAAS, error) {
	text, err := vfs.ReadFile(fs, name, sasl.JAASBytesMax)
	if err != nil {
		return nil, fmt.Errorf("server: JAAS file: %w", err)
	}
	jaas, err := sasl.ParseJAAS(text)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return jaas, nil
}
