package layouts

import (
	"encoding/binary"
	"fmt"
)

// The data of a batch of a queue: a version, then for each item a mark, its length and its bytes, then an end mark.
// Source: Curator's ItemSerializer; operations 9.2.
const (
	itemsVersion = 0x00010001
	itemMark     = 1
	itemsEnd     = 2
)

// AppendItems appends the data of a batch.
func AppendItems(b []byte, items [][]byte) []byte {
	b = binary.BigEndian.AppendUint32(b, itemsVersion)
	for _, item := range items {
		b = append(b, itemMark)
		b = binary.BigEndian.AppendUint32(b, uint32(len(item)))
		b = append(b, item...)
	}
	return append(b, itemsEnd)
}

// ReadItems returns the items of a batch, which alias b.
func ReadItems(b []byte) ([][]byte, error) {
	if len(b) < 4 || binary.BigEndian.Uint32(b) != itemsVersion {
		return nil, fmt.Errorf("no version of queue items")
	}
	var items [][]byte
	for at := 4; at < len(b); {
		switch mark := b[at]; {
		case mark == itemsEnd && at == len(b)-1:
			return items, nil
		case mark != itemMark || len(b)-at < 5:
			return nil, fmt.Errorf("no queue item at offset %d", at)
		}
		n := int64(binary.BigEndian.Uint32(b[at+1:]))
		at += 5
		if n > int64(len(b)-at) {
			return nil, fmt.Errorf("queue item of %d bytes at offset %d of %d", n, at, len(b))
		}
		items = append(items, b[at:at+int(n)])
		at += int(n)
	}
	return nil, fmt.Errorf("no end of queue items")
}
