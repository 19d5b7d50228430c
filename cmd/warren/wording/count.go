package wording

import "strconv"

// Count is a number with its noun, which has an s unless there is one: "1 txn", "2 txns", "0 txns".
func Count[T ~int | ~int32 | ~int64 | ~uint32 | ~uint64](n T, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatInt(int64(n), 10) + " " + noun
}
