package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// JSON writes the whole report.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Table writes the report for people. Of several rounds it shows the main figures only; JSON has
// the rest.
func (r *Report) Table(w io.Writer) error {
	fmt.Fprintf(w, "load %s, %s\n", r.Load, r.Parameters)
	for _, t := range r.Targets {
		fmt.Fprintf(w, "\n%s: %s\n", t.Name, strings.Join(t.Servers, ","))
		if err := writeRows(w, t.Rounds); err != nil {
			return err
		}
	}
	if len(r.Comparisons) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n%s against %s, min / median / max over %d rounds; ratio is %s/%s\n",
		r.Targets[0].Name, r.Targets[1].Name, len(r.Targets[0].Rounds), r.Targets[0].Name, r.Targets[1].Name)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "\tfigure\t%s\t%s\tratio\t\n", r.Targets[0].Name, r.Targets[1].Name)
	for _, c := range r.Comparisons {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t\n", c.Row, c.Figure, c.A, c.B, c.Ratio.format(ratio))
	}
	return tw.Flush()
}

// writeRows writes one line for each row of each round, then what has no column.
func writeRows(w io.Writer, rounds [][]*Row) error {
	hasServers := slices.ContainsFunc(rounds[0], func(r *Row) bool { return r.Servers != nil })
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := "\toperations\top/s\tp50 us\tp99 us\tp99.9 us\tmax us\terrors\tload CPU s\t"
	if hasServers {
		head += "server CPU s\top/CPU s\tMiB\t"
	}
	fmt.Fprintln(tw, head)
	for i, rows := range rounds {
		for _, r := range rows {
			name := r.Name
			if len(rounds) > 1 {
				name = fmt.Sprintf("%s, round %d", name, i+1)
			}
			writeRow(tw, name, r)
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for i := range rounds[0] {
		if len(rounds) == 1 {
			writeDetails(w, rounds[0][i])
		}
		errs := map[string]int64{}
		for _, rows := range rounds {
			for code, n := range rows[i].Errors {
				errs[code] += n
			}
		}
		for _, code := range slices.Sorted(maps.Keys(errs)) {
			fmt.Fprintf(w, "  %s, error %s: %d\n", rounds[0][i].Name, code, errs[code])
		}
	}
	return nil
}

// writeDetails writes what only some rows have.
func writeDetails(w io.Writer, r *Row) {
	for _, k := range r.Kinds {
		if k.Latency != nil {
			fmt.Fprintf(w, "  %s, %s: %d, p50 %s, p99 %s, p99.9 %s, max %s us\n", r.Name, k.Kind, k.Operations,
				number(k.Latency.P50), number(k.Latency.P99), number(k.Latency.P999), number(k.Latency.Max))
		}
	}
	for _, f := range r.Figures {
		fmt.Fprintf(w, "  %s, %s: %s%s\n", r.Name, f.Name, number(f.Value), unit(f.Unit))
	}
}

func writeRow(w io.Writer, name string, r *Row) {
	var errs int64
	for _, n := range r.Errors {
		errs += n
	}
	lat := Latency{}
	if r.Latency != nil {
		lat = *r.Latency
	}
	fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%d\t%.2f\t", name, r.Operations, number(r.PerSecond),
		number(lat.P50), number(lat.P99), number(lat.P999), number(lat.Max), errs, r.LoadCPU)
	if r.Servers != nil {
		fmt.Fprintf(w, "%.2f\t%s\t%s\t", r.Servers.CPUSeconds, number(r.Servers.PerCPUSecond),
			number(r.Servers.ResidentMiB))
	}
	fmt.Fprintln(w)
}

// String writes the three values.
func (s Spread) String() string { return s.format(number) }

func (s Spread) format(f func(float64) string) string {
	return f(s.Min) + " / " + f(s.Median) + " / " + f(s.Max)
}

func ratio(v float64) string { return fmt.Sprintf("%.2f", v) }

// number writes about three digits, and whole numbers as they are.
func number(v float64) string {
	switch {
	case v == math.Trunc(v) || v >= 100 || v <= -100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
