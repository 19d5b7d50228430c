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
// urgent first. state and serves are those of the server; absent are the servers that it, as their leader, does not
// hear.
func (f *Facts) findings(server int64, state string, serves bool, absent []int64) (all []findings.Finding) {
	if r, ok := f.Role(); ok {
		own := ofRole(server, &r)
		all, serves = append(all, own...), serves || len(own) > 0 // the role says why it does not serve
	}
	for _, id := range absent {
		all = append(all, findings.Absent(id))
	}
	if !serves {
		all = append(all, findings.NotServing(state))
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

// numberOf returns the number that mntr prints under a name. It does not know those of quotas, whose names contain
// paths.
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
