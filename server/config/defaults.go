package config

import (
	"cmp"
	"path/filepath"
	"time"
)

// Default returns the settings of a server without a configuration file: standalone, on loopback, with its data
// in ./data. It is complete and valid. Warren's own.
func Default() *Config {
	c := embedded()
	c.resolve()
	return c
}

// embedded returns Default before resolve, so that settings can still be applied over it.
func embedded() *Config {
	c := base()
	c.DataDir = filepath.FromSlash("./data")
	c.ClientPort = 2181
	c.ClientPortAddress = "127.0.0.1"
	c.TickTime = 2 * time.Second
	c.Admin.Address = "127.0.0.1"
	return c
}

// base returns the meaning of an empty file: the defaults in the settings table. They are ZooKeeper's own, except for
// purging, which is on. Values that depend on others stay unset until resolve. Source: operations 1.4, 1.5, 3.1 and
// 4.1.
func base() *Config {
	c := &Config{origins: map[string]position{}, values: map[string]string{}}
	for _, s := range c.settings() {
		if s.reset != nil {
			s.reset()
		}
	}
	return c
}

// unset marks a duration whose default depends on another setting. No key can produce it: they count milliseconds.
const unset = time.Duration(-1)

// resolve fills in the defaults that depend on other settings. It is idempotent.
func (c *Config) resolve() {
	c.DataLogDir = cmp.Or(c.DataLogDir, c.DataDir)
	if c.MinSessionTimeout == unset {
		c.MinSessionTimeout = 2 * c.TickTime
	}
	if c.MaxSessionTimeout == unset {
		c.MaxSessionTimeout = 20 * c.TickTime
	}
	if c.MaxWriteQueuePollTime == unset {
		c.MaxWriteQueuePollTime = c.FlushDelay / 3
	}
	c.JuteMaxBufferExtra = cmp.Or(c.JuteMaxBufferExtra, max(c.JuteMaxBuffer, 1024))
	if c.ConnectToLearnerMasterLimit == 0 {
		c.ConnectToLearnerMasterLimit = c.InitLimit
	}
}

// AdminAddress returns host:port for the admin server, or "" if it is off.
func (c *Config) AdminAddress() string {
	if !c.Admin.Enabled || c.Admin.Port == PortUnset {
		return ""
	}
	return HostPort{c.Admin.Address, c.Admin.Port}.String()
}
