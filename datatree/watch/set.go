package watch

// mode is the set of modes in which one connection watches one path. ZooKeeper keeps two
// tables, data and child; one word per connection and path holds both, because a persistent watch
// is in both tables or in neither.
type mode uint32

const (
	modeData       mode = 1 << iota // one-shot, data table: getData and exists
	modeChild                       // one-shot, child table: getChildren
	modePersistent                  // data and child table
	modeRecursive                   // data table
	modeBits       = iota

	modesData    = modeData | modePersistent | modeRecursive
	modesChild   = modeChild | modePersistent
	modesOneShot = modeData | modeChild
	modesAll     = modesData | modesChild
)

// keyMax is the largest connection or path number that fits beside the modes.
const keyMax = 1<<(32-modeBits) - 1

// modeSet maps keys to modes: the watchers of a path, or the paths of a watcher (whose modes mean
// nothing there). It is an open-addressing table of words, key above modes, in an arena block of
// 1<<log words. An empty slot is 0, since no word has modes 0. An empty set has no block.
//
// Invariant: at most 3/4 of a block of more than 8 words is used, and more than 1/8, unless the arena had no place for
// a smaller block when the set shrank.
type modeSet struct {
	ref uint32
	n   uint32
	log uint8
}

func makeWord(key uint32, m mode) uint32 { return key<<modeBits | uint32(m) }

func wordKey(word uint32) uint32 { return word >> modeBits }

func wordModes(word uint32) mode { return mode(word) & modesAll }

// words returns the slots of s, none if s is empty.
func (s *modeSet) words(a *arena[uint32]) []uint32 {
	if s.n == 0 {
		return nil
	}
	return a.at(s.ref, 1<<s.log)
}

// homeSlot is the slot at which the search for key begins in a table of 1<<log slots: Fibonacci
// hashing, which spreads the dense numbers of slots and entries evenly.
func homeSlot(key uint32, log uint8) uint32 {
	return uint32(uint64(key*0x9e3779b1) << log >> 32)
}

// findWord returns the slot of key, or the empty slot where it belongs; ok is false if there is
// neither, which only a full block of up to 8 words gives.
func findWord(slots []uint32, key uint32, log uint8) (i uint32, ok bool) {
	mask := uint32(len(slots) - 1)
	i = homeSlot(key, log)
	for range slots {
		if slots[i] == 0 || wordKey(slots[i]) == key {
			return i, true
		}
		i = (i + 1) & mask
	}
	return 0, false
}

// get returns the modes of key, 0 if it is absent.
func (s *modeSet) get(a *arena[uint32], key uint32) mode {
	slots := s.words(a)
	if slots == nil {
		return 0
	}
	if i, ok := findWord(slots, key, s.log); ok {
		return wordModes(slots[i])
	}
	return 0
}

// put sets the modes of key, which must not be 0.
func (s *modeSet) put(a *arena[uint32], key uint32, m mode) {
	if slots := s.words(a); slots != nil {
		if i, ok := findWord(slots, key, s.log); ok && slots[i] != 0 {
			slots[i] = makeWord(key, m)
			return
		}
	}
	switch {
	case s.n == 0:
		*s = modeSet{ref: a.alloc(1)}
	case s.isFull():
		s.resize(a, s.log+1)
	}
	slots := a.at(s.ref, 1<<s.log)
	i, _ := findWord(slots, key, s.log)
	slots[i] = makeWord(key, m)
	s.n++
}

// isFull reports whether one more key needs a larger block.
func (s *modeSet) isFull() bool {
	size := uint32(1) << s.log
	return s.n == size && size <= 8 || size > 8 && s.n+1 > size/4*3
}

// wants returns how many words put asks for with a new key.
func (s *modeSet) wants() int {
	switch {
	case s.n == 0:
		return 1
	case s.isFull():
		return 2 << s.log
	}
	return 0
}

// remove takes key out; it must be present.
func (s *modeSet) remove(a *arena[uint32], key uint32) {
	if s.n == 1 {
		s.drop(a)
		return
	}
	slots := s.words(a)
	mask := uint32(len(slots) - 1)
	gap, _ := findWord(slots, key, s.log)
	// Close the gap: move back every word of the run that may stand there, so that no search
	// meets an empty slot before its word.
	for i, left := (gap+1)&mask, mask; left > 0 && slots[i] != 0; i, left = (i+1)&mask, left-1 {
		h := homeSlot(wordKey(slots[i]), s.log)
		if (i-h)&mask >= (i-gap)&mask {
			slots[gap] = slots[i]
			gap = i
		}
	}
	slots[gap] = 0
	s.n--
	if s.log > 0 && s.n <= 1<<s.log/8 && a.hasRoom(1) {
		s.resize(a, s.log-1)
	}
}

func (s *modeSet) drop(a *arena[uint32]) {
	if s.n > 0 {
		a.release(s.ref, 1<<s.log)
	}
	*s = modeSet{}
}

// resize moves s to a block of 1<<log words, which must have room for it.
func (s *modeSet) resize(a *arena[uint32], log uint8) {
	old, oldSize := s.ref, 1<<s.log
	ref := a.alloc(1 << log)
	slots := a.at(ref, 1<<log)
	for _, word := range a.at(old, oldSize) {
		if word != 0 {
			i, _ := findWord(slots, wordKey(word), log)
			slots[i] = word
		}
	}
	s.ref, s.log = ref, log
	a.release(old, oldSize)
}
