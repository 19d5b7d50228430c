package config

import "strings"

// suggestion asks whether a key that is not known was meant to be one that is; "" if none is like it.
func (l *loader) suggestion(key string) string {
	if stem := strings.TrimRight(key, "0123456789"); stem != key && nearest(stem, []string{"server."}) != "" {
		return "; did you mean server." + key[len(stem):] + "? The server that it names is not in the ensemble"
	}
	var all []string
	for _, s := range l.c.settings() {
		all = append(all, s.keys...)
	}
	if like := nearest(key, all); like != "" {
		return "; did you mean " + like + "?"
	}
	return ""
}

// nearest returns the name in all that name may have been meant to be, "" if none is like it.
func nearest(name string, all []string) (best string) {
	most := max(1, len(name)/5) // typing errors that are forgiven
	for _, known := range all {
		if d := distance(strings.ToLower(name), strings.ToLower(known), most); d <= most {
			best, most = known, d-1
		}
	}
	return best
}

// distance returns how many bytes have to be inserted, removed, replaced or exchanged with their neighbour to make b
// of a, or more than most if that is more.
func distance(a, b string, most int) int {
	if most < 0 || len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	var before []int // the row above prev
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(prev[j]+cost, prev[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, prev = prev, row
	}
	return prev[len(b)]
}
