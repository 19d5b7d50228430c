package bench

// Comparison sets one figure of two targets side by side, over all rounds.
type Comparison struct {
	Row    string `json:"row"`
	Figure string `json:"figure"`
	A      Spread `json:"a"`
	B      Spread `json:"b"`
	Ratio  Spread `json:"ratio"` // A/B, round by round
}

// Spread is a figure over several rounds.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

func newSpread(v []float64) Spread {
	m := median(v) // sorts
	return Spread{v[0], m, v[len(v)-1]}
}

// compared lists what is set side by side.
var compared = []struct {
	name string
	of   func(*Row) (float64, bool)
}{
	{"operations/s", func(r *Row) (float64, bool) { return r.PerSecond, r.Operations > 0 }},
	{"p50 us", func(r *Row) (float64, bool) { return r.latency(func(l *Latency) float64 { return l.P50 }) }},
	{"p99 us", func(r *Row) (float64, bool) { return r.latency(func(l *Latency) float64 { return l.P99 }) }},
	{"p99.9 us", func(r *Row) (float64, bool) { return r.latency(func(l *Latency) float64 { return l.P999 }) }},
	{"operations/CPU s", func(r *Row) (float64, bool) {
		return r.usage(func(u *Usage) float64 { return u.PerCPUSecond })
	}},
	{"resident MiB", func(r *Row) (float64, bool) { return r.usage(func(u *Usage) float64 { return u.ResidentMiB }) }},
}

func (r *Row) usage(of func(*Usage) float64) (float64, bool) {
	if r.Servers == nil {
		return 0, false
	}
	v := of(r.Servers)
	return v, v > 0
}

func (r *Row) latency(of func(*Latency) float64) (float64, bool) {
	if r.Latency == nil {
		return 0, false
	}
	return of(r.Latency), true
}

// compare returns the figures that both targets have in every round. Both have the same rows.
func compare(a, b [][]*Row) []Comparison {
	var out []Comparison
	for i, row := range a[0] {
		for _, c := range compared {
			addComparison(&out, row.Name, c.name, a, b, i, c.of)
		}
		for k, f := range row.Figures {
			addComparison(&out, row.Name, f.Name+unit(f.Unit), a, b, i, func(r *Row) (float64, bool) {
				if k >= len(r.Figures) || r.Figures[k].Name != f.Name {
					return 0, false
				}
				return r.Figures[k].Value, true
			})
		}
	}
	return out
}

func unit(u string) string {
	if u == "" {
		return ""
	}
	return " " + u
}

func addComparison(out *[]Comparison, row, figure string, a, b [][]*Row, i int, of func(*Row) (float64, bool)) {
	var va, vb, ratios []float64
	for round := range a {
		x, okA := of(a[round][i])
		y, okB := of(b[round][i])
		if !okA || !okB {
			return
		}
		va, vb = append(va, x), append(vb, y)
		if y != 0 {
			ratios = append(ratios, x/y)
		}
	}
	c := Comparison{Row: row, Figure: figure, A: newSpread(va), B: newSpread(vb)}
	if len(ratios) > 0 {
		c.Ratio = newSpread(ratios)
	}
	*out = append(*out, c)
}
