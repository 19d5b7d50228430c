package figures

import (
	"github.com/seed94657493/warren/proto"
)

// opNames are the names of clients' requests in op_count_<name>, and the op codes that each counts: those of ZooKeeper
// 3.10. Source: operations 4.4.
var opNames = []struct {
	name string
	ops  []proto.OpCode
}{
	{"add_watch", []proto.OpCode{proto.OpAddWatch}},
	{"check", []proto.OpCode{proto.OpCheck}},
	{"check_watches", []proto.OpCode{proto.OpCheckWatches}},
	{"close_session", []proto.OpCode{proto.OpCloseSession}},
	{"create", []proto.OpCode{proto.OpCreate, proto.OpCreate2, proto.OpCreateContainer, proto.OpCreateTTL}},
	{"create_session", []proto.OpCode{proto.OpCreateSession}},
	{"delete", []proto.OpCode{proto.OpDelete, proto.OpDeleteContainer}},
	{"exists", []proto.OpCode{proto.OpExists}},
	{"get_acl", []proto.OpCode{proto.OpGetACL}},
	{"get_all_children_number", []proto.OpCode{proto.OpGetAllChildrenNumber}},
	{"get_children", []proto.OpCode{proto.OpGetChildren, proto.OpGetChildren2}},
	{"get_data", []proto.OpCode{proto.OpGetData}},
	{"get_ephemerals", []proto.OpCode{proto.OpGetEphemerals}},
	{"multi", []proto.OpCode{proto.OpMulti}},
	{"multi_read", []proto.OpCode{proto.OpMultiRead}},
	{"ping", []proto.OpCode{proto.OpPing}},
	{"reconfig", []proto.OpCode{proto.OpReconfig}},
	{"remove_watches", []proto.OpCode{proto.OpRemoveWatches}},
	{"set_acl", []proto.OpCode{proto.OpSetACL}},
	{"set_data", []proto.OpCode{proto.OpSetData}},
	{"set_watches", []proto.OpCode{proto.OpSetWatches, proto.OpSetWatches2}},
	{"sync", []proto.OpCode{proto.OpSync}},
	{"who_am_i", []proto.OpCode{proto.OpWhoAmI}},
}

// countOps adds the numbers of requests by operation, and of all. They are those of Server.Count, so that a request is
// counted once.
func (s *Server) countOps() {
	add := func(name, help string, ops []proto.OpCode) {
		count := &total{now: func() int64 { return s.CountOf(ops...) }}
		s.counters = append(s.counters, counter(single(name, help, count), help))
	}
	var all []proto.OpCode
	for _, n := range opNames {
		add("op_count_"+n.name, "Requests of clients that were answered: "+n.name+".", n.ops)
		all = append(all, n.ops...)
	}
	add("op_count_total", "Requests of clients that were answered.", all)
}
