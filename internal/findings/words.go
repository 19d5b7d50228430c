package findings

import (
	"strconv"
	"strings"
)

// Words are what the four-letter words of a server tell, whether of ZooKeeper or of Warren.
type Words struct {
	Srvr, Mntr, Conf string
}

// alike are settings that are to be the same on every server.
var alike = []string{"tickTime", "initLimit", "syncLimit", "minSessionTimeout", "maxSessionTimeout", "electionAlg"}

// Read adds to the facts of a server what its words tell. Words that it has not answered are empty.
func (s *Server) Read(w *Words) {
	s.readSrvr(w.Srvr)
	s.readConf(w.Conf)
	numbers := Numbered(w.Mntr)
	number := func(name string) (float64, bool) {
		v, err := strconv.ParseFloat(numbers[name], 64)
		return v, err == nil
	}
	s.Own = append(s.Own, Numbers(number, 0, SinceStart)...)
	s.Own = append(s.Own, PendingSyncs(number)...)
	size, ok1 := number("quorum_size")
	synced, ok2 := number("synced_followers")
	if ok1 && ok2 && s.Mode == "leader" {
		s.Voters, s.Synced = int(size), int(synced)
	}
}

func (s *Server) readSrvr(text string) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "Zookeeper version":
			s.Version, _, _ = strings.Cut(value, ",")
		case "Latency min/avg/max":
			if parts := strings.Split(value, "/"); len(parts) == 3 {
				s.MeanMs, _ = strconv.ParseFloat(parts[1], 64)
			}
		case "Connections":
			count, _ := strconv.ParseInt(value, 10, 64)
			s.Connections = max(0, count-1) // the one that asks is none of a client
		case "Outstanding":
			s.Outstanding, _ = strconv.ParseInt(value, 10, 64)
		case "Zxid":
			if z, err := strconv.ParseUint(strings.TrimPrefix(value, "0x"), 16, 64); err == nil {
				s.Zxid = z
			}
		case "Mode":
			s.Mode, s.Serving = value, true
		}
	}
	if s.Mode == "" {
		s.Answer, _, _ = strings.Cut(text, "\n")
		s.Answer = strings.TrimSpace(s.Answer[:min(len(s.Answer), 200)])
	}
	if s.Mode == "read-only" {
		s.Serving = false
	}
}

// Numbered returns the numbers of the word mntr, by their names without the prefix zk_.
func Numbered(mntr string) map[string]string {
	numbers := map[string]string{}
	for line := range strings.Lines(mntr) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			numbers[strings.TrimPrefix(key, "zk_")] = value
		}
	}
	return numbers
}

// Configured returns the settings that the word conf tells, and the configuration of the ensemble.
func Configured(conf string) (settings map[string]string, members string) {
	text, members, _ := strings.Cut(conf, "membership:")
	settings = map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			settings[key] = value
		}
	}
	return settings, strings.TrimSpace(members)
}

// readConf takes the id, the configuration of the ensemble and the settings that are to be alike.
func (s *Server) readConf(text string) {
	var values map[string]string
	values, s.Members = Configured(text)
	if id, err := strconv.ParseInt(values["serverId"], 10, 64); err == nil {
		s.ID = id
	}
	if !s.Serving {
		return
	}
	for _, key := range alike {
		if value := values[key]; value != "" {
			if s.Settings == nil {
				s.Settings = map[string]string{}
			}
			s.Settings[key] = value
		}
	}
}
