package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"path"

	"github.com/seed94657493/warren/server/internal/api"
)

// routes are what the server writes itself, by method and name: the page of the application, files, and the views that
// a link opens to browsers without a login.
var routes = map[string]func(*Console, http.ResponseWriter, *http.Request, *api.Visitor) error{
	"GET ":        (*Console).app,
	"GET data":    (*Console).data,
	"GET export":  (*Console).export,
	"GET links":   (*Console).links,
	"POST links":  (*Console).share,
	"POST unlink": (*Console).unshare,
	"GET shared":  (*Console).shared,
	"POST shared": (*Console).openLink,
}

// Bounds of what a page shows.
const (
	pageRows = 100
	pathMax  = 8 << 10
)

// crumb is a znode above another.
type crumb struct{ name, path string }

// crumbsBelow are the znodes from root to a path at or below it.
func crumbsBelow(root, p string) []crumb {
	all := []crumb{{root, root}}
	for i := len(root) + 1; i <= len(p); i++ {
		if i == len(p) || p[i] == '/' {
			all = append(all, crumb{path.Base(p[:i]), p[:i]})
		}
	}
	return all
}

func pathOf(values url.Values) (string, error) {
	p := values.Get("path")
	switch {
	case p == "":
		return "/", nil
	case p[0] != '/' || len(p) > pathMax:
		return "", &api.Refusal{Status: http.StatusBadRequest,
			Text: "the path does not begin with a slash, or is too long"}
	}
	return p, nil
}

// data sends the data of a znode as a file, which no browser shows or runs.
func (c *Console) data(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	p, err := pathOf(r.URL.Query())
	if err != nil {
		return err
	}
	z, err := api.Ask(c.api, r, func() (*api.Znode, error) { return c.api.Server().Znode(v.Actor, p, 1<<30) })
	if err != nil {
		return err
	}
	api.Attach(w, "application/octet-stream", "znode.bin", z.Raw)
	return nil
}

func (c *Console) export(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	p, err := pathOf(r.URL.Query())
	if err != nil {
		return err
	}
	d, err := api.Ask(c.api, r, func() (*api.Document, error) { return c.api.Server().Export(v.Actor, p) })
	if err != nil {
		return err
	}
	text, err := json.Marshal(d)
	if err != nil {
		return err // cannot happen: a document has texts and numbers only
	}
	api.Attach(w, "application/json", "export.json", text)
	return nil
}

// readForm reads the form of a request. A visitor without a login has little to send.
func (c *Console) readForm(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	most := int64(api.CredentialsBody)
	if v.User != "" {
		most = c.api.BodyMax()
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	err := r.ParseForm()
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &api.Refusal{Status: http.StatusRequestEntityTooLarge,
			Text: "the form is larger than it may be; changes are bounded by jute.maxbuffer"}
	case err != nil:
		return &api.Refusal{Status: http.StatusBadRequest, Text: "the form cannot be read"}
	}
	return nil
}
