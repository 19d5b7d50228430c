package figures

import (
	"math"
	"strconv"
	"strings"
)

// Decimal prints a number as ZooKeeper does: at most four places, at least one.
func Decimal(v float64) string {
	text := strconv.FormatFloat(math.Round(v*1e4)/1e4, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
