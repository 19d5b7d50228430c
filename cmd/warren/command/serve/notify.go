package serve

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"time"
)

// notifyPatience is how long a service manager that does not read is waited for.
const notifyPatience = time.Second

// notifyManager tells the service manager that started this process what has changed: lines such as READY=1, as one
// datagram to the socket that NOTIFY_SOCKET names. Without that variable it does nothing. A name that begins with @
// is abstract, which package net knows. Source: sd_notify(3).
func notifyManager(state string) error {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	err = conn.SetWriteDeadline(time.Now().Add(notifyPatience))
	if err == nil {
		_, err = conn.Write([]byte(state))
	}
	if err = cmp.Or(err, conn.Close()); err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	return nil
}
