package snapshot

// adlerMod is the modulus of Adler-32.
const adlerMod = 65521

// adlerBefore returns the Adler-32 of some bytes, given the Adler-32 of those bytes followed by tail: it undoes
// the steps of the sum, one for each byte. The parser finds a seal inside a chunk after another goroutine has
// summed the whole chunk. This function finds the sum at the seal without a second pass over the bytes before it.
func adlerBefore(sum uint32, tail []byte) uint32 {
	a, b := sum&0xffff, sum>>16
	for i := len(tail) - 1; i >= 0; i-- {
		if b < a {
			b += adlerMod
		}
		b -= a
		d := uint32(tail[i])
		if a < d {
			a += adlerMod
		}
		a -= d
	}
	return b<<16 | a
}
