package api

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"time"

	"go.uber.org/zap"
)

// supportPartMax is how many bytes a file of a support bundle has at most. What is more is cut off.
const supportPartMax = 4 << 20

// supportText is in every support bundle.
const supportText = `A support bundle of a Warren server, made at %s.

  server.json      the server and its ensemble, with the findings
  servers.json     the servers of the ensemble, as this one has heard them
  settings.json    every setting, its default and its origin; secrets are stars
  trends.json      figures of the last day, and events
  slow.json        the newest slow operations
  metrics.txt      all metrics
  build.txt        the program, the machine and the modules of which it is made
  goroutines.txt   what each goroutine does

It has no passwords, keys, ACLs and data of znodes. It does have addresses of servers, paths of znodes, and labels of
sessions, which open nothing. The log is where the server writes it.
`

// supportOthersMax is how many files a bundle of another server has at most.
const supportOthersMax = 40

// support sends a support bundle. One is made at a time.
func (a *API) support(w http.ResponseWriter, r *http.Request, v *Visitor) error {
	if err := a.o.Server.MaySeeAll(v.Actor); err != nil {
		return err
	}
	q := queryOf(r, v)
	ofAll := q.number("all", 0) != 0 && v.via == "" && a.o.Server.ID() >= 0
	if q.err != nil {
		return q.err
	}
	packed, err := using(a.bundling, r, func() ([]byte, error) {
		own, err := a.supportBundle(v.Actor)
		if err != nil || !ofAll {
			return own, err
		}
		return a.supportOfAll(r, v, own)
	})
	if err != nil {
		return err
	}
	a.o.Log.Info("support bundle made in the console",
		zap.Stringer("client_addr", v.Remote), zap.String("user", v.User), zap.Bool("of_all", ofAll))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout)) // others may have taken long
	Attach(w, "application/gzip", "warren-support.tar.gz", packed)
	return nil
}

// Attach answers with a file, which no browser shows or runs.
func Attach(w http.ResponseWriter, kind, name string, content []byte) {
	h := w.Header()
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	h.Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = w.Write(content) // the visitor may have gone
}

// supportOfAll is a bundle with a folder for each server: own for this one, and what the others send. Why one has sent
// nothing is written into its folder.
func (a *API) supportOfAll(r *http.Request, v *Visitor, own []byte) ([]byte, error) {
	to := a.routes["/support"][http.MethodGet]
	ids := []int64{a.o.Server.ID()}
	for _, s := range a.o.Server.Servers().Servers {
		if s.ID != ids[0] {
			ids = append(ids, s.ID)
		}
	}
	return packedArchive(func(archive *tar.Writer) error {
		for i, id := range ids {
			text, err := own, error(nil)
			if i > 0 {
				text, err = a.supportOf(r, v, id, to)
			}
			folder := fmt.Sprintf("server-%d/", id)
			if err == nil {
				err = addSupport(archive, folder, text)
			}
			if err != nil {
				why := []byte("Not collected: " + err.Error() + "\n")
				if err := addFile(archive, folder+"NOT-COLLECTED.txt", why, a.o.Now()); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// packedArchive returns an archive with what add writes to it.
func packedArchive(add func(*tar.Writer) error) ([]byte, error) {
	var packed bytes.Buffer
	squeezed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(squeezed)
	err := cmp.Or(add(archive), archive.Close(), squeezed.Close())
	return packed.Bytes(), err
}

func (a *API) supportOf(r *http.Request, v *Visitor, id int64, to *route) ([]byte, error) {
	answer, err := a.passTo(r, v, id, to, Task{Name: to.name, User: v.User, IDs: v.IDs, Remote: v.Remote})
	if err == nil && answer.Status != http.StatusOK {
		err = fmt.Errorf("it answers %d: %.200s", answer.Status, answer.Body)
	}
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

func addSupport(archive *tar.Writer, folder string, packed []byte) error {
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	files := tar.NewReader(unpacked)
	for range supportOthersMax {
		head, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(files, supportPartMax))
		if err != nil {
			return err
		}
		if err := addFile(archive, folder+path.Base(head.Name), text, head.ModTime); err != nil {
			return err
		}
	}
	return nil
}

func addFile(archive *tar.Writer, name string, text []byte, at time.Time) error {
	err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), ModTime: at})
	if err == nil {
		_, err = archive.Write(text)
	}
	return err
}

func (a *API) supportBundle(v Actor) ([]byte, error) {
	s, now := a.o.Server, a.o.Now().UTC()
	parts := []struct {
		name  string
		write func(io.Writer) error
	}{
		{"README.txt", func(w io.Writer) error {
			_, err := fmt.Fprintf(w, supportText, now.Format(time.RFC3339))
			return err
		}},
		{"server.json", record(func() (any, error) { return s.Ensemble(), nil })},
		{"servers.json", record(func() (any, error) { return s.Servers(), nil })},
		{"settings.json", record(func() (any, error) { return s.Settings(), nil })},
		{"trends.json", record(func() (any, error) { return s.Trends(0), nil })},
		{"slow.json", record(func() (any, error) { return s.Slow(v, pageMax) })},
		{"metrics.txt", a.metricsText},
		{"build.txt", buildText},
		// Without the arguments of functions, which may be secrets.
		{"goroutines.txt", func(w io.Writer) error { return pprof.Lookup("goroutine").WriteTo(w, 1) }},
	}
	return packedArchive(func(archive *tar.Writer) error {
		for _, part := range parts {
			text := bounded{most: supportPartMax}
			if err := part.write(&text); err != nil {
				fmt.Fprintf(&text, "\nnot known: %v\n", err) // the others are of use without it
			}
			if err := addFile(archive, part.name, text.Bytes(), now); err != nil {
				return err
			}
		}
		return nil
	})
}

func record(of func() (any, error)) func(io.Writer) error {
	return func(w io.Writer) error {
		value, err := of()
		if err != nil {
			return err
		}
		out := json.NewEncoder(w)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		return out.Encode(value)
	}
}

// buildText is about the program and the machine.
func buildText(w io.Writer) error {
	fmt.Fprintf(w, "%s %s/%s, %d processors, GOMAXPROCS %d\n", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), runtime.GOMAXPROCS(0))
	if info, ok := debug.ReadBuildInfo(); ok {
		fmt.Fprint(w, info)
	}
	return nil
}

// metricsText is what a scraper would get.
func (a *API) metricsText(w io.Writer) error {
	if a.o.Metrics == nil {
		return nil
	}
	r, err := http.NewRequest(http.MethodGet, "/metrics", nil)
	if err != nil {
		return err
	}
	all := &passed{header: http.Header{}}
	a.o.Metrics.ServeHTTP(all, r)
	_, err = w.Write(all.body.Bytes())
	return err
}

// bounded is a buffer that drops what is more than it takes.
type bounded struct {
	bytes.Buffer
	most int
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, b.most-b.Len()))])
	return len(p), nil
}
