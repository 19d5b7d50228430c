package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Bounds of asking other servers.
const (
	// ensemblesWait is how long another server may take, and ensembleMax how many bytes its answer may have.
	ensemblesWait, ensembleMax = 2 * time.Second, 1 << 20
	// ensemblesFresh is how long answers hold: visitors cannot make this server ask more often.
	ensemblesFresh = 3 * time.Second
)

// Ensembles are those of warren.console.ensembles, as their servers describe themselves.
type Ensembles struct {
	Ensembles []OtherEnsemble `json:"ensembles" doc:"in the order of the setting"`
}

// OtherEnsemble is what the server at one address says.
type OtherEnsemble struct {
	Name     string   `json:"name" doc:"of the setting"`
	Trouble  string   `json:"trouble" doc:"why nothing is known; empty if the server has answered"`
	Ensemble Ensemble `json:"ensemble" doc:"the answer of its /api/v1/ensemble"`
}

// others asks the servers of other ensembles. Only addresses of the configuration are asked, without credentials, and
// redirects are not followed, so that a visitor cannot send this server anywhere.
type others struct {
	names, urls []string
	client      *http.Client
	mu          struct {
		sync.Mutex
		at      time.Time
		answers []OtherEnsemble
	}
}

func newOthers(settings []string) *others {
	o := &others{client: &http.Client{Timeout: ensemblesWait,
		Transport: &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}}
	for _, setting := range settings {
		name, url, _ := strings.Cut(setting, "=")
		o.names, o.urls = append(o.names, name), append(o.urls, url)
	}
	return o
}

// Ensembles returns what the servers of warren.console.ensembles say. They are asked at the same time, at most once in
// ensemblesFresh.
func (a *API) Ensembles(ctx context.Context) *Ensembles {
	o := a.others
	o.mu.Lock() // others wait for the answers that are on their way
	defer o.mu.Unlock()
	if o.mu.answers == nil || a.o.Now().Sub(o.mu.at) >= ensemblesFresh {
		answers := make([]OtherEnsemble, len(o.urls))
		var all sync.WaitGroup
		for i := range o.urls {
			all.Go(func() { answers[i] = o.ask(context.WithoutCancel(ctx), i) })
		}
		all.Wait()
		o.mu.at, o.mu.answers = a.o.Now(), answers
	}
	return &Ensembles{append([]OtherEnsemble{}, o.mu.answers...)}
}

func (o *others) ask(ctx context.Context, i int) OtherEnsemble {
	answer := OtherEnsemble{Name: o.names[i], Ensemble: Ensemble{Members: []Member{}, Problems: []Problem{}}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(o.urls[i], "/")+Root+"/ensemble", nil)
	if err != nil {
		answer.Trouble = "its address cannot be used"
		return answer
	}
	resp, err := o.client.Do(r)
	if err != nil {
		answer.Trouble = "it does not answer"
		return answer
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		answer.Trouble = "it refuses to tell: " + resp.Status[:min(len(resp.Status), 100)]
		return answer
	}
	answer.read(io.LimitReader(resp.Body, ensembleMax))
	return answer
}

func (e *OtherEnsemble) read(r io.Reader) {
	var record Ensemble
	if err := json.NewDecoder(r).Decode(&record); err != nil || record.State == "" {
		e.Trouble = "its answer cannot be read"
		return
	}
	e.Ensemble = record
	if record.Members == nil {
		e.Ensemble.Members = []Member{}
	}
	if record.Problems == nil {
		e.Ensemble.Problems = []Problem{}
	}
}

func (a *API) ensembles(w http.ResponseWriter, r *http.Request, _ *Visitor) error {
	return answer(w, a.Ensembles(r.Context()))
}
