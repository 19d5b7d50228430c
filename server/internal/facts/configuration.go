package facts

import (
	"path/filepath"

	"github.com/seed94657493/warren/server/internal/host"
)

// Configuration is the answer of configuration.
type Configuration struct {
	ClientPort        int    `json:"client_port"`
	DataDir           string `json:"data_dir"`
	DataLogDir        string `json:"data_log_dir"`
	TickTimeMs        int64  `json:"tick_time"`
	MaxClientCnxns    int    `json:"max_client_cnxns"`
	MinSessionTimeout int64  `json:"min_session_timeout"`
	MaxSessionTimeout int64  `json:"max_session_timeout"`
	ServerID          int64  `json:"server_id"`
	ListenBacklog     int    `json:"client_port_listen_backlog"`
}

// Configuration returns the content of conf, as far as the admin command tells it.
func (f *Facts) Configuration() Configuration {
	plain, _ := f.front.PortNumbers()
	id := int64(0) // of a standalone server, regardless of myid
	if f.Config.Distributed() {
		id = f.Config.ServerID
	}
	return Configuration{
		ClientPort: plain, DataDir: absolute(f.SnapDir()), DataLogDir: absolute(f.LogDir()),
		TickTimeMs: f.Config.TickTime.Milliseconds(), MaxClientCnxns: f.Config.MaxClientCnxns,
		MinSessionTimeout: f.Config.MinSessionTimeout.Milliseconds(),
		MaxSessionTimeout: f.Config.MaxSessionTimeout.Milliseconds(),
		ServerID:          id, ListenBacklog: f.Config.ListenBacklog,
	}
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// ConfigurationText returns zoo.cfg as it was read, secrets masked.
func (f *Facts) ConfigurationText() string { return f.Config.MaskedText() }

// EnsembleText returns the configuration of the ensemble that is in force, in the form of a dynamic configuration
// file.
func (f *Facts) EnsembleText() string { return string(host.ConfigText(f.Membership())) }

// Setting is one setting of the server.
type Setting struct {
	Name    string `json:"name" doc:"key of zoo.cfg"`
	Value   string `json:"value" doc:"in force now; *** for a secret"`
	Default string `json:"default" doc:"without a line in zoo.cfg; of durations in Go's form"`
	Origin  string `json:"origin" doc:"file and line, -D or environment variable; empty for the default"`
	Live    string `json:"live" doc:"how a change takes effect without a restart; empty if it needs one"`
}

// Settings returns every setting, sorted by name, secrets masked.
func (f *Facts) Settings() (all []Setting) {
	for _, e := range f.Config.Entries() {
		all = append(all, Setting(e))
	}
	return all
}
