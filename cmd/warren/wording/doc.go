// Package wording writes errors for operators: the subject once, what is wrong with it in plain words, and none of the
// steps by which Go has come to it. It is the only place that knows how Go and the operating system word their errors.
// It holds no state.
package wording
