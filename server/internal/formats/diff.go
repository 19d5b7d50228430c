package formats

import "strings"

// Line is a line of a difference.
type Line struct {
	Sign byte // '+' for a new line, '-' for one that is gone, ' ' for one that stays
	Text string
}

// linesMax bounds the lines of the changed middle of each side, and with it the work, which grows with the product.
const linesMax = 1000

// Difference compares two texts by lines. ok is false if too much has changed to be compared.
func Difference(before, after string) (lines []Line, ok bool) {
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	x, y := a[head:len(a)-tail], b[head:len(b)-tail]
	if len(x) > linesMax || len(y) > linesMax {
		return nil, false
	}
	add := func(sign byte, texts ...string) {
		for _, t := range texts {
			if t != "" {
				lines = append(lines, Line{sign, strings.TrimSuffix(t, "\n")})
			}
		}
	}
	add(' ', a[:head]...)
	// common[i][j] is how many lines x[i:] and y[j:] have in common, in their order.
	common := make([][]uint16, len(x)+1)
	for i := range common {
		common[i] = make([]uint16, len(y)+1)
	}
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); x[i] == y[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			add(' ', x[i])
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[i+1][j] >= common[i][j+1]:
			add('-', x[i])
			i++
		default:
			add('+', y[j])
			j++
		}
	}
	add(' ', a[len(a)-tail:]...)
	return lines, true
}
