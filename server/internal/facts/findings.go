package facts

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/seed94657493/warren/internal/findings"
	"github.com/seed94657493/warren/server/internal/host"
)

// findings are what warren doctor would find of this server and its ensemble, as far as the server knows, the most
// urgent first.
func (f *Facts) findings(e *Ensemble) []findings.Finding {
	var all []findings.Finding
	serves := e.Serving
	if r, ok := f.Role(); ok {
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
	if f.Serving() {
		number := f.numberOf()
		all = append(all, findings.Quorum(number)...)
		all = append(all, findings.Numbers(number, float64(f.Metrics.SlowSyncs.Total()))...)
		all = append(all, findings.Disk(f.Guard.Full(), time.Duration(f.Guard.FullIn()*float64(time.Second)))...)
	}
	if f.Draining() {
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

// numberOf finds a number that mntr prints by its name. It has none of quotas, whose names are parts of paths.
// REQUIRES: the server has recovered.
func (f *Facts) numberOf() func(name string) (float64, bool) {
	all := map[string]float64{}
	for _, g := range f.gauges() {
		all[g.Name] = g.Value
	}
	f.Env.Stats.Lines(func(key, value string) {
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			all[key] = v
		}
	})
	return func(name string) (float64, bool) {
		v, ok := all[name]
		return v, ok
	}
}
