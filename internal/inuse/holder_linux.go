package inuse

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// holderOf names the process that keeps others from opening a port. Source: proc(5), for a folder that is usually
// /proc.
func holderOf(proc string, at netip.AddrPort) string {
	s, ok := socketAt(proc, at)
	if !ok {
		return Unknown
	}
	if pid := processWith(proc, s.inode); pid != "" {
		return nameOf(proc, pid)
	}
	owner := "the user with uid " + s.uid
	if u, err := user.LookupId(s.uid); err == nil {
		owner = "the user " + u.Username
	}
	if me := strconv.Itoa(os.Geteuid()); me != "0" && me != s.uid {
		return "a process of " + owner + ", which only that user and root can identify"
	}
	return "a process of " + owner + " that cannot be seen from here, as in another container"
}

// nameOf names a process.
func nameOf(proc, pid string) string {
	name, err := os.ReadFile(filepath.Join(proc, pid, "comm"))
	if err != nil {
		return "process " + pid
	}
	return fmt.Sprintf("%s (pid %s)", strings.TrimSpace(string(name)), pid)
}

// lockedBy finds the process that has locked a whole file, in the list of locks. It takes the number of the file alone
// for its identity: on some file systems the list has another device than stat. A process of another container has no
// id here.
func lockedBy(proc, file string) (pid string, ok bool) {
	info, err := os.Stat(file)
	if err != nil {
		return "", false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	locks, err := os.Open(filepath.Join(proc, "locks"))
	if err != nil {
		return "", false
	}
	defer locks.Close()
	inode := strconv.FormatUint(stat.Ino, 10)
	for lines := bufio.NewScanner(locks); lines.Scan(); { // 1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[1] != "FLOCK" {
			continue
		}
		if at := strings.LastIndexByte(fields[5], ':'); fields[5][at+1:] == inode {
			id, err := strconv.Atoi(fields[4])
			return fields[4], err == nil && id > 0
		}
	}
	return "", false
}

// socket is a line of /proc/net/tcp.
type socket struct{ inode, uid string }

// listens is the state of a socket that listens, in that file.
const listens = "0A"

// socketAt finds the socket that has a port: one that listens or, if there is none, any other.
func socketAt(proc string, at netip.AddrPort) (found socket, ok bool) {
	for _, file := range []string{"net/tcp", "net/tcp6"} {
		f, err := os.Open(filepath.Join(proc, file))
		if err != nil {
			continue
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			// sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
			fields := strings.Fields(lines.Text())
			if len(fields) < 10 || !clash(fields[1], at) {
				continue
			}
			if found, ok = (socket{fields[9], fields[7]}), true; fields[3] == listens {
				return found, true
			}
		}
	}
	return found, ok
}

// clash reports whether a local address, in the form of /proc/net/tcp, has the port of another one at its address.
func clash(local string, at netip.AddrPort) bool {
	digits, port, _ := strings.Cut(local, ":")
	if n, err := strconv.ParseUint(port, 16, 16); err != nil || uint16(n) != at.Port() {
		return false
	}
	var ip []byte
	for ; len(digits) >= 8; digits = digits[8:] { // words of the kernel
		n, err := strconv.ParseUint(digits[:8], 16, 32)
		if err != nil {
			return false
		}
		ip = binary.NativeEndian.AppendUint32(ip, uint32(n))
	}
	addr, ok := netip.AddrFromSlice(ip)
	wanted := at.Addr().WithZone("").Unmap()
	addr = addr.Unmap()
	return ok && (addr.IsUnspecified() || !wanted.IsValid() || wanted.IsUnspecified() || addr == wanted)
}

// processWith returns the id of the process that has a socket open, or "" if none that may be looked at has.
func processWith(proc, inode string) string {
	link := "socket:[" + inode + "]"
	processes, _ := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	for _, process := range processes {
		descriptors, err := os.ReadDir(filepath.Join(process, "fd"))
		if err != nil {
			continue
		}
		for _, d := range descriptors {
			if to, err := os.Readlink(filepath.Join(process, "fd", d.Name())); err == nil && to == link {
				return filepath.Base(process)
			}
		}
	}
	return ""
}
