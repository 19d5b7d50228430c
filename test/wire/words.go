package wire

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
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

// Gauge returns one of the figures that the word mntr shows, such as zk_watch_count.
func Gauge(addr, name string, timeout time.Duration) (int, error) {
	all, err := FourLetter(addr, "mntr", timeout)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(all) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && key == name {
			return strconv.Atoi(value)
		}
	}
	return 0, fmt.Errorf("wire: no %s in %q", name, all)
}
