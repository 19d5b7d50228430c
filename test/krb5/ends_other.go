//go:build !linux

package krb5

import "syscall"

func endsWithTest() *syscall.SysProcAttr { return nil }
