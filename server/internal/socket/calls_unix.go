//go:build unix

package socket

import "syscall"

// canTry is whether Read and Write return at once if the socket is not ready.
const canTry = true

// Read is one read of the system from a socket. It returns syscall.EAGAIN if the socket has nothing.
func Read(fd uintptr, b []byte) (int, error) { return syscall.Read(int(fd), b) }

// Write is one write of the system to a socket. It returns syscall.EAGAIN if the socket takes nothing.
func Write(fd uintptr, b []byte) (int, error) { return syscall.Write(int(fd), b) }
