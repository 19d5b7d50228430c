// Package proto turns bytes into records and back: the primitives of the jute encoding, the
// records of the client protocol, of the quorum protocol, of the transaction log and of
// snapshots, and the operation and error codes.
//
// Records, operations and errors come from zookeeper.def, ops.def and errors.def through the generator in
// proto/gen (make generate). The parts that jute cannot describe are written by hand: the framing, the handshake
// and multi.
//
// # Encoding
//
// Every record has AppendTo, which appends its encoding and may be called any number of times,
// ReadFrom, which decodes from the front of a byte slice, and Decode, which decodes from a Reader
// whose Err reports a failure. Integers are big-endian. A ustring
// is a Text and a buffer a []byte: nil is null (length -1 on the wire), an empty non-nil slice is
// empty (length 0). A vector follows the same rule.
//
// # Ownership
//
// Decoding copies nothing: Text, []byte and vector elements alias the input, so they are valid
// only while the input is. ReadFrom reuses the capacity of the vectors in its receiver, so a
// record that is kept and decoded into again does not allocate.
//
// # Hostile input
//
// No decoder panics or allocates more than a small multiple of the bytes it was given: a length
// is compared with the bytes that are left, and a count with the bytes left divided by the size
// of the smallest element, before anything is allocated. Bytes after a complete record are
// ignored, as the reference does.
//
// The package has no state and no goroutines; all of it may be used concurrently on distinct
// values.
package proto
