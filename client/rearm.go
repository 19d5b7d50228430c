package client

import "github.com/seed94657493/warren/proto"

// rearmBytes is how large a setWatches request may grow before the next one is begun: it must stay below the
// servers' jute.maxbuffer, however many watches there are. Source: client-protocol 9.5.
const rearmBytes = 128 << 10

// rearmFixed is the size of a setWatches2 without its paths: header, zxid and five lengths.
const rearmFixed = proto.RequestHeaderSize + 8 + 5*4

// rearm returns the frames that set all active watches on a new connection, and how many there are. seen is the
// newest zxid of the session: the server reports the events that one-shot watches have missed since. No frame is
// longer than requestMax, unless it has a single path.
func (s *watchSet) rearm(seen Zxid, requestMax int) (frames []byte, n int) {
	most := min(rearmBytes, requestMax-rearmFixed)
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.residue) // the old connection had it
	var lists [watchRecursive + 1][]proto.Text
	size := 0
	flush := func() {
		frames = appendSetWatches(frames, seen, &lists)
		n++
		size = 0
		for i := range lists {
			lists[i] = lists[i][:0]
		}
	}
	for path, first := range s.paths {
		var has [watchRecursive + 1]bool
		for w := first; w != nil; w = w.next {
			if !w.isActive || has[w.kind] {
				continue
			}
			has[w.kind] = true
			if size += 4 + len(path); size > most && size > 4+len(path) {
				flush()
				size = 4 + len(path)
			}
			lists[w.kind] = append(lists[w.kind], proto.Text(path))
		}
	}
	if size > 0 {
		flush()
	}
	return frames, n
}

// appendSetWatches appends setWatches, or setWatches2 if there are persistent watches, which older servers do not
// know.
func appendSetWatches(b []byte, seen Zxid, lists *[watchRecursive + 1][]proto.Text) []byte {
	for i := range lists {
		if lists[i] == nil {
			lists[i] = []proto.Text{} // a null vector is refused
		}
	}
	start := len(b)
	if len(lists[watchPersistent])+len(lists[watchRecursive]) == 0 {
		b = beginRequest(b, proto.XidSetWatches, proto.OpSetWatches)
		r := proto.SetWatches{RelativeZxid: seen, DataWatches: lists[watchData], ExistWatches: lists[watchExist],
			ChildWatches: lists[watchChild]}
		return endFrame(r.AppendTo(b), start)
	}
	b = beginRequest(b, proto.XidSetWatches, proto.OpSetWatches2)
	r := proto.SetWatches2{RelativeZxid: seen, DataWatches: lists[watchData], ExistWatches: lists[watchExist],
		ChildWatches: lists[watchChild], PersistentWatches: lists[watchPersistent],
		PersistentRecursiveWatches: lists[watchRecursive]}
	return endFrame(r.AppendTo(b), start)
}
