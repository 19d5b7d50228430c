package env

import "time"

const (
	// forecastEvery is the time between two samples of a forecast, and forecastSamples is how many it looks at: an
	// hour, so that files of the log that are allocated in advance, snapshots and their purge even out.
	forecastEvery   = time.Minute
	forecastSamples = 60
	// forecastLeast is how many samples a forecast needs.
	forecastLeast = 10
	// forecastMost is the longest time that a forecast names.
	forecastMost = 10 * 365 * 24 * time.Hour
	// noForecast is the answer if the room does not end, as far as is known.
	noForecast = -1
)

// forecast tells from the free space of the last hour when it ends. One goroutine at a time may use it.
type forecast struct {
	at   [forecastSamples]int64 // ns, ascending from oldest
	free [forecastSamples]int64 // bytes
	n    int                    // samples so far
}

// add notes the free space, if the last sample is old enough.
func (f *forecast) add(now, free int64) {
	if f.n > 0 && now-f.at[(f.n-1)%forecastSamples] < int64(forecastEvery) {
		return
	}
	f.at[f.n%forecastSamples], f.free[f.n%forecastSamples] = now, free
	f.n++
}

// seconds returns when the free space comes down to limit, in seconds, by the line with the least squares through the
// samples; noForecast if the space does not shrink.
func (f *forecast) seconds(free, limit int64) float64 {
	n := min(f.n, forecastSamples)
	if free <= limit {
		return 0
	}
	if n < forecastLeast {
		return noForecast
	}
	var meanT, meanF float64
	from := f.at[0]
	for i := range n {
		meanT += float64(f.at[i]-from) / 1e9 / float64(n)
		meanF += float64(f.free[i]) / float64(n)
	}
	var both, square float64
	for i := range n {
		t := float64(f.at[i]-from)/1e9 - meanT
		both += t * (float64(f.free[i]) - meanF)
		square += t * t
	}
	if both >= 0 || square == 0 {
		return noForecast
	}
	if in := float64(free-limit) / (-both / square); in < forecastMost.Seconds() {
		return in
	}
	return noForecast
}
