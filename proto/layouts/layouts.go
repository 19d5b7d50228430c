// Package layouts holds the names and the data of the znodes by which programs coordinate: locks, elections,
// semaphores, queues, services. Package recipes writes them, and a server shows what they mean, so both take them from
// here. The layouts are those of Curator 5.4, where it has the recipe, and of kazoo 2.8 where a name says so. Source:
// operations 9.2.
//
// All functions are pure. Names and data are written by any client: the functions refuse what they do not know, and
// allocate no more than they are given.
package layouts

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Markers are the parts of names before the number that the server adds.
const (
	Lock  = "lock-"
	Latch = "latch-"
	Lease = "lease-"
	Read  = "__READ__"
	Write = "__WRIT__"
	Item  = "queue-"

	SimpleItem = "qn-"       // of Curator's SimpleDistributedQueue, and of ZooKeeper's own recipe
	KazooLock  = "__lock__"  // also the writer of a read/write lock
	KazooRead  = "__rlock__" // the reader of a read/write lock
	KazooParty = "__party__"
	KazooEntry = "entry-" // a priority of three digits and a minus follow
)

// Names of znodes that have no number.
const (
	Ready  = "ready"  // in a double barrier and in a bundle: it is complete
	Locks  = "locks"  // in a semaphore: the line of those that want a permit
	Leases = "leases" // in a semaphore: the permits that are held

	KazooEntries = "entries" // in a LockingQueue: the items
	KazooTaken   = "taken"   // in a LockingQueue: the items that consumers process
)

// Revoke is the data of a lock whose holder is asked to release it.
const Revoke = "__REVOKE__"

// Place is one znode of a line: of znodes under one parent that are in the order of their numbers.
type Place struct {
	Name   string
	Marker string
	Seq    int32
}

// Order picks the names that contain one of the markers followed by a number, and sorts them by the number: prefixes
// are random. The counter is a signed 32-bit value that wraps, so numbers are compared by their distance. The numbers
// of a line are never 2^31 apart unless a znode stays in it for that many others. Source: operations 9.1.3.
func Order(names, markers []string) []Place {
	var line []Place
	for _, name := range names {
		for _, marker := range markers {
			i := strings.LastIndex(name, marker)
			if i < 0 {
				continue
			}
			if seq, err := strconv.ParseInt(name[i+len(marker):], 10, 32); err == nil {
				line = append(line, Place{name, marker, int32(seq)})
				break
			}
		}
	}
	slices.SortFunc(line, func(a, b Place) int { return int(a.Seq - b.Seq) })
	return line
}

// Number reads the number that the server has added to the name of an item.
func Number(digits string) (seq int32, ok bool) {
	if strings.HasPrefix(digits, "+") {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	return int32(n), err == nil
}

// PriorityText is the part of the name of an item that has a priority: it sorts as priorities do.
func PriorityText(priority int32) string {
	sign := 1
	if priority < 0 {
		sign = 0
	}
	return fmt.Sprintf("%d%08X", sign, uint32(priority))
}

// Priority reads what follows the marker in the name of an item that has a priority: the smallest is first.
func Priority(rest string) (priority, seq int32, ok bool) {
	if len(rest) < 9 {
		return 0, 0, false
	}
	n, err := strconv.ParseUint(rest[1:9], 16, 32)
	if err != nil || PriorityText(int32(n)) != rest[:9] {
		return 0, 0, false
	}
	seq, ok = Number(rest[9:])
	return int32(n), seq, ok
}

// DueText is the part of the name of an item that is due at a time, in ms since 1970. Curator accepts only times after
// 1970.
func DueText(ms int64) string { return fmt.Sprintf("|%08X|", max(ms, 1)) }

// Due reads what follows the marker in the name of an item that is due at a time, in ms since 1970.
func Due(rest string) (ms int64, seq int32, ok bool) {
	rest, hasBar := strings.CutPrefix(rest, "|")
	digits, number, hasBars := strings.Cut(rest, "|")
	n, err := strconv.ParseUint(digits, 16, 64)
	if !hasBar || !hasBars || err != nil || n > math.MaxInt64 {
		return 0, 0, false
	}
	seq, ok = Number(number)
	return int64(n), seq, ok
}

// Service is the data of the znode of one instance of a service. Source: captured from Curator 5.4.
type Service struct {
	Name         string          `json:"name"`
	ID           string          `json:"id"`
	Address      *string         `json:"address"`
	Port         *int            `json:"port"`
	SSLPort      *int            `json:"sslPort"`
	Payload      json.RawMessage `json:"payload"`
	RegisteredAt int64           `json:"registrationTimeUTC"`
	Type         string          `json:"serviceType"`
	URI          *URISpec        `json:"uriSpec"`
	Enabled      *bool           `json:"enabled,omitempty"` // Curator leaves it out unless told otherwise
}

// URISpec is a pattern of a URI.
type URISpec struct {
	Parts []URIPart `json:"parts"`
}

// URIPart is a piece of a URISpec: text, or the name of a variable.
type URIPart struct {
	Value    string `json:"value"`
	Variable bool   `json:"variable"`
}

// ReadService reads the data of an instance's znode. It ignores unknown fields.
func ReadService(data []byte) (*Service, error) {
	var s Service
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("instance: %w", err)
	}
	if s.Name == "" || s.ID == "" {
		return nil, fmt.Errorf("instance without name and id")
	}
	return &s, nil
}
