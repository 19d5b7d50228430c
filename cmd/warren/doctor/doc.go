// Package doctor looks at a data directory or at running servers and says what is wrong, the most urgent first, and
// what to do.
//
// A check produces findings and nothing else: it changes no data, with one exception, the measurement of the disk,
// which writes and removes a file named .warren.doctor. What a check cannot see, because a four-letter word is not
// permitted or a file cannot be read, is a finding of its own, so that silence means that it was looked at.
//
// Directories are read through vfs.FS and may be those of ZooKeeper, also of one that is running. Servers are asked
// in the four-letter words, which every ZooKeeper server understands, and, where it answers, by the admin server's
// port.
//
// Everything belongs to the caller's goroutine; servers are asked at the same time, by goroutines that end before the
// function returns.
package doctor
