package words

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/server/internal/api"
	"github.com/seed94657493/warren/server/internal/host"
)

// findings are what warren doctor would find of this server and its ensemble, as far as the server knows, the most
// urgent first.
func (n shown) findings(e *api.Ensemble) []findings.Finding {
	var all []findings.Finding
	serves := e.Serving
	if r, ok := n.Role(); ok {
		own := ofRole(e.ServerID, &r)
		all, serves = append(all, own...), serves || len(own) > 0 // the role says why it does not serve
	}
	for i := range e.Members {
		if e.Members[i].State == "absent" {
			all = append(all, findings.Absent(e.Members[i].ID))
		}
	}
	if !serves {
		all = append(all, findings.NotServing(e.State))
	}
	if n.Doors.IsOpen() {
		number := n.numbers()
		all = append(all, findings.Quorum(number)...)
		all = append(all, findings.Numbers(number, float64(n.Metrics.SlowSyncs.Total()))...)
		all = append(all, findings.Disk(n.Guard.Full(), time.Duration(n.Guard.FullIn()*float64(time.Second)))...)
	}
	if _, on := n.front.Draining(); on {
		all = append(all, findings.Drained())
	}
	slices.SortStableFunc(all, func(a, b findings.Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return all
}

// ofRole are the findings that the role of a member tells.
func ofRole(server int64, r *host.QuorumRole) (all []findings.Finding) {
	if r.ReadOnly {
		all = append(all, findings.ReadOnly())
	}
	if o := r.Outside; o != nil {
		all = append(all, findings.Outside(server, int64(o.Leader), o.Reason, o.Own, o.Theirs))
	}
	switch w := r.Search; {
	case w == nil || w.Reason == "":
	case w.Stuck:
		all = append(all, findings.Stuck(w.Reason, w.WayOut))
	default:
		all = append(all, findings.Waits(w.Reason))
	}
	for _, other := range r.Strangers {
		all = append(all, findings.OtherHistory(server, int64(other.ID), other.Reason, other.Theirs))
	}
	return all
}

// numbers returns the numbers that mntr prints, without those of quotas, whose names are parts of paths. REQUIRES: the
// server has recovered.
func (n shown) numbers() func(name string) (float64, bool) {
	all := map[string]float64{}
	for _, g := range n.gauges() {
		all[g.Name] = g.value
	}
	n.Stats.Lines(func(key, value string) {
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			all[key] = v
		}
	})
	return func(name string) (float64, bool) {
		v, ok := all[name]
		return v, ok
	}
}
