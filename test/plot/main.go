// Command plot draws the throughput of an ensemble over the share of reads, one line for each number of servers, as
// figure 5 of the ZooKeeper paper does, from results of `warren bench paper --output json`:
//
//	go run ./test/plot 3=three.json 5=five.json 7=seven.json > docs/throughput.svg
//
// A result of two targets gives two lines, the second one dashed.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

// result is what of a result of warren bench is drawn.
type result struct {
	Targets []struct {
		Rounds [][]struct {
			Name      string  `json:"name"`
			PerSecond float64 `json:"per_second"`
		} `json:"rounds"`
	} `json:"targets"`
}

// line is one curve: operations a second by percent of reads.
type line struct {
	name   string
	dashed bool
	points [][2]float64
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	var lines []line
	for _, arg := range args {
		servers, file, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is not SERVERS=FILE", arg)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		more, err := curves(servers, text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		lines = append(lines, more...)
	}
	if len(lines) == 0 {
		return fmt.Errorf("nothing to draw: name results as SERVERS=FILE")
	}
	_, err := io.WriteString(out, draw(lines))
	return err
}

// curves reads the curves of one result.
func curves(servers string, text []byte) ([]line, error) {
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	names := []string{servers + " servers", servers + " servers, ZooKeeper 3.8"}
	var lines []line
	for i, target := range r.Targets {
		l := line{name: names[min(i, 1)], dashed: i > 0}
		sums, counts := map[float64]float64{}, map[float64]float64{}
		for _, round := range target.Rounds {
			for _, step := range round {
				reads, err := strconv.ParseFloat(strings.TrimSuffix(step.Name, " % reads"), 64)
				if err != nil {
					return nil, fmt.Errorf("step %q is not of the paper's sweep", step.Name)
				}
				sums[reads] += step.PerSecond
				counts[reads]++
			}
		}
		for reads := 0.0; reads <= 100; reads++ {
			if counts[reads] > 0 {
				l.points = append(l.points, [2]float64{reads, sums[reads] / counts[reads]})
			}
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// Sizes of the drawing, in pixels.
const (
	width, height = 760, 420
	left, right   = 80, 220
	top, bottom   = 20, 50
)

var colours = []string{"#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#b9770e"}

// draw returns an SVG. The vertical axis is logarithmic, as reads are served very much faster than writes.
func draw(lines []line) string {
	low, high := math.Inf(1), 0.0
	for _, l := range lines {
		for _, p := range l.points {
			low, high = min(low, p[1]), max(high, p[1])
		}
	}
	from, to := math.Floor(math.Log10(max(low, 1))), math.Ceil(math.Log10(max(high, 10)))
	x := func(reads float64) float64 { return left + reads/100*(width-left-right) }
	y := func(rate float64) float64 {
		return height - bottom - (math.Log10(max(rate, 1))-from)/(to-from)*(height-top-bottom)
	}
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	for e := from; e <= to; e++ {
		v := math.Pow(10, e)
		fmt.Fprintf(&b,
			`<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" `+
				`text-anchor="end">%s</text>`+"\n", left, y(v), width-right, y(v), left-6, y(v)+4, amount(v))
	}
	for reads := 0.0; reads <= 100; reads += 20 {
		fmt.Fprintf(&b,
			`<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#ddd"/><text x="%.1f" y="%d" `+
				`text-anchor="middle">%.0f</text>`+"\n", x(reads), top, x(reads), height-bottom, x(reads),
			height-bottom+18, reads)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">percentage of reads</text>`+"\n",
		(left+width-right)/2, height-12)
	fmt.Fprintf(&b, `<text transform="translate(18 %d) rotate(-90)" text-anchor="middle">operations a second</text>`+
		"\n", (top+height-bottom)/2)
	colour := -1
	for i, l := range lines {
		dash := ` stroke-dasharray="5 4"`
		if !l.dashed {
			colour, dash = colour+1, ""
		}
		var points []string
		for _, p := range l.points {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(p[0]), y(p[1])))
		}
		c := colours[max(colour, 0)%len(colours)]
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n",
			strings.Join(points, " "), c, dash)
		at := top + 12 + 20*i
		fmt.Fprintf(&b,
			`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="2"%s/><text x="%d" y="%d">%s</text>`+"\n",
			width-right+10, at, width-right+40, at, c, dash, width-right+46, at+4, l.name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// amount writes 1000 as 1k.
func amount(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%g", v)
}
