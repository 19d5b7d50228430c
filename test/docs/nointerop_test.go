//go:build !interop

package docs

// withInterop is whether blocks run that take the network, or programs that not every machine has.
const withInterop = false
