// Package formats opens and writes the data of a znode for a reader: gzip and snappy are undone, and text, JSON, YAML,
// XML and bytes are laid out. All functions are pure.
//
// The data comes from any client. So each step has a bound on what it makes out of it, which holds before memory is
// taken: a short znode may stand for gigabytes when it is unpacked, and for as many when it is indented.
package formats
