package client

// ring is a first-in first-out queue of calls. It grows by doubling and never shrinks; its bound is
// WithMaxOutstanding.
type ring struct {
	buf  []*call // length is a power of two
	head int
	n    int
}

func (r *ring) push(cl *call) {
	if r.n == len(r.buf) {
		bigger := make([]*call, max(16, 2*r.n))
		for i := range r.n {
			bigger[i] = r.buf[(r.head+i)&(len(r.buf)-1)]
		}
		r.buf, r.head = bigger, 0
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = cl
	r.n++
}

// pop returns the oldest call, nil if there is none.
func (r *ring) pop() *call {
	if r.n == 0 {
		return nil
	}
	cl := r.buf[r.head]
	r.buf[r.head] = nil
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return cl
}
