package security

import (
	"fmt"
	"io"

	"github.com/seed94657493/warren/internal/sasl"
	"github.com/seed94657493/warren/wal/vfs"
)

// ReadJAAS reads a JAAS file, which has sections for clients and for the servers among themselves.
func ReadJAAS(fs vfs.FS, name string) (sasl.JAAS, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, fmt.Errorf("server: JAAS file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, sasl.JAASBytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("server: JAAS file %s: %w", name, err)
	}
	jaas, err := sasl.ParseJAAS(text)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return jaas, nil
}
