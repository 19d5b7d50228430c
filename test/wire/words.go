package wire

import (
	"fmt"
	"io"
	"net"
	"time"
)

// FourLetter sends a four-letter word and returns the text of the answer.
func FourLetter(addr, word string, timeout time.Duration) (string, error) {
	nc, err := net.DialTimeout("tcp", addr, timeout)
	if err != nil {
		return "", err
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(timeout)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(nc, word); err != nil {
		return "", fmt.Errorf("wire: %s to %s: %w", word, addr, err)
	}
	text, err := io.ReadAll(io.LimitReader(nc, 16<<20))
	if err != nil {
		return "", fmt.Errorf("wire: %s to %s: %w", word, addr, err)
	}
	return string(text), nil
}
