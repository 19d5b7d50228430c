package console

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed94657493/warren/server/internal/api"
)

// routes are the pages by method and name.
func routes() map[string]func(*Console, http.ResponseWriter, *http.Request, *api.Visitor) error {
	return map[string]func(*Console, http.ResponseWriter, *http.Request, *api.Visitor) error{
		"GET ":           (*Console).app,
		"GET tree":       (*Console).tree,
		"GET data":       (*Console).data,
		"GET ensembles":  (*Console).ensembles,
		"GET links":      (*Console).links,
		"POST links":     (*Console).share,
		"POST unlink":    (*Console).unshare,
		"GET shared":     (*Console).shared,
		"POST shared":    (*Console).openLink,
		"GET past":       (*Console).past,
		"GET difference": (*Console).difference,
		"GET login":      (*Console).loginPage,
		"POST login":     (*Console).login,
		"POST logout":    (*Console).logout,
		"POST change":    (*Console).change,
		"GET export":     (*Console).export,
		"GET history":    (*Console).history,
		"POST preview":   (*Console).preview,
		"POST work":      (*Console).work,
	}
}

// Bounds of what a page shows.
const (
	pageRows = 100
	editMax  = 256 << 10 // bytes of data that can be edited: a browser gets slow with more
	pathMax  = 8 << 10
)

// treePage is a znode with a page of its children.
type treePage struct {
	path     string
	crumbs   []crumb
	znode    *api.Znode    // nil if it may not be read
	children *api.Children // nil if they may not be read
	view     string        // that was asked for
	dataView dataView
	quota    *api.Quota // nil if it may not be read
	form     form       // of the editor
}

// crumb is a znode above another.
type crumb struct{ name, path string }

// form is the content of the editor.
type form struct {
	data, encoding string
	acl            aclForm
	token          string
	possible       bool // the data can be edited
}

func crumbs(p string) []crumb {
	all := []crumb{{"/", "/"}}
	if p == "/" {
		return all
	}
	for i := 1; i <= len(p); i++ {
		if i == len(p) || p[i] == '/' {
			all = append(all, crumb{path.Base(p[:i]), p[:i]})
		}
	}
	return all
}

// pathOf returns the path that a request asks for.
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

func (c *Console) tree(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	return c.showTree(w, r, v, r.URL.Query(), nil)
}

// showTree shows a znode, and why a change of it was refused.
func (c *Console) showTree(w http.ResponseWriter, r *http.Request, v *api.Visitor, q url.Values, refused error) error {
	return c.showEditor(w, r, v, q, nil, refused)
}

// showEditor is showTree with the form of permissions as the visitor has filled it in; nil for those of the znode.
func (c *Console) showEditor(w http.ResponseWriter, r *http.Request, v *api.Visitor, q url.Values, acl *aclForm,
	refused error) error {
	p, err := pathOf(q)
	if err != nil {
		return err
	}
	page := &treePage{path: p, crumbs: crumbs(p), view: q.Get("view"), form: form{token: v.Token}}
	err = c.api.Work(r, func() (err error) {
		if page.znode, err = c.api.Server().Znode(v.Actor, p, api.DataMax); err != nil {
			return err
		}
		page.quota, _ = c.api.Server().Quota(v.Actor, p) // a znode that is gone meanwhile has none
		page.children, err = c.api.Server().Children(v.Actor, p, q.Get("after"), pageRows)
		return err
	})
	if refused == nil {
		refused = err
	}
	if page.znode != nil {
		page.lay()
		if acl != nil {
			page.form.acl = *acl
		}
	}
	f := frame{title: p, heading: crumbsOf(page), visitor: v, trouble: refused}
	return show(w, f, treeView(page, c.api.Writes() && v.User != ""))
}

// lay writes the data of the znode in the chosen view, and for the editor.
func (p *treePage) lay() {
	raw := p.znode.Raw
	isText := utf8.Valid(raw) && bytes.IndexByte(raw, 0) < 0
	p.dataView = viewOf(raw, p.znode.Whole, p.view)
	p.form.possible = p.znode.Whole && len(raw) <= editMax
	p.form.data, p.form.encoding = string(raw), "utf-8"
	if !isText || bytes.IndexByte(raw, '\r') >= 0 { // browsers change the line ends of a form
		p.form.data, p.form.encoding = base64.StdEncoding.EncodeToString(raw), "base64"
	}
	p.form.acl = aclFormOf(p.znode)
}

// data sends the data of a znode as a file, which no browser shows or runs.
func (c *Console) data(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	p, err := pathOf(r.URL.Query())
	if err != nil {
		return err
	}
	var z *api.Znode
	err = c.api.Work(r, func() (err error) {
		z, err = c.api.Server().Znode(v.Actor, p, 1<<30)
		return err
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="znode.bin"`)
	w.Header().Set("Content-Length", strconv.Itoa(len(z.Raw)))
	_, _ = w.Write(z.Raw) // the visitor may have gone
	return nil
}

func (c *Console) loginPage(w http.ResponseWriter, _ *http.Request, v *api.Visitor) error {
	return show(w, frame{title: "Log in", visitor: v}, loginView())
}

// readForm reads the form of a request. A visitor without a login has nothing to send but the form of a login.
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

func (c *Console) login(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	if err := c.readForm(w, r, v); err != nil {
		return err
	}
	if _, err := c.api.Login(w, r, r.PostForm.Get("user"), r.PostForm.Get("password")); err != nil {
		return show(w, frame{title: "Log in", visitor: v, trouble: err}, loginView())
	}
	return redirect(w, "./")
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	if err := c.readForm(w, r, v); err != nil {
		return err
	}
	if err := c.api.CheckPage(r, v, r.PostForm.Get("token")); err != nil {
		return err
	}
	c.api.Logout(w, r, v)
	return redirect(w, "./")
}

// change does what the editor asks for and shows the znode afterwards.
func (c *Console) change(w http.ResponseWriter, r *http.Request, v *api.Visitor) error {
	if err := c.readForm(w, r, v); err != nil {
		return err
	}
	f := r.PostForm
	if err := c.api.MayChange(r, v, f.Get("token")); err != nil {
		return err
	}
	if f.Get("kind") == "acl" {
		return c.changeACL(w, r, v)
	}
	change, err := changeOf(f)
	if err == nil {
		_, err = c.api.Change(r, v, change)
	}
	if err != nil {
		return c.showTree(w, r, v, url.Values{"path": {f.Get("path")}}, err)
	}
	next := change.Path
	if change.Kind == api.ChangeDelete {
		next = path.Dir(next)
	}
	if change.Kind == api.ChangeCreate {
		next = f.Get("path")
	}
	return redirect(w, "tree?path="+url.QueryEscape(next))
}

// changeOf reads the form of the editor.
func changeOf(f url.Values) (c api.Change, err error) {
	if c.Path, err = pathOf(f); err != nil {
		return c, err
	}
	if c.Data, err = formData(f); err != nil {
		return c, err
	}
	if c.Version, err = formVersion(f); err != nil {
		return c, err
	}
	switch f.Get("kind") {
	case "create":
		c.Kind, c.Path = api.ChangeCreate, path.Join(c.Path, "/")+"/"+f.Get("name")
		if c.Path = strings.Replace(c.Path, "//", "/", 1); strings.Contains(f.Get("name"), "/") {
			return c, &api.Refusal{Status: http.StatusBadRequest, Text: "a name has no slash"}
		}
		c.Sequential = f.Get("sequential") != ""
		err = formMode(f, &c)
	case "set":
		c.Kind = api.ChangeData
	case "acl":
		c.Kind = api.ChangeACL
		c.ACL, err = entriesOf(f)
	case "delete":
		c.Kind = api.ChangeDelete
		if f.Get("sure") == "" {
			err = &api.Refusal{Status: http.StatusBadRequest, Text: "to delete, tick the box"}
		}
	default:
		err = &api.Refusal{Status: http.StatusBadRequest, Text: "the form asks for nothing that is known"}
	}
	return c, err
}

// formData returns the data of a form. Browsers send line ends as CR LF.
func formData(f url.Values) ([]byte, error) {
	if f.Get("encoding") == "base64" {
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(f.Get("data")), ""))
		if err != nil {
			return nil, &api.Refusal{Status: http.StatusBadRequest, Text: "the data is not base64"}
		}
		return data, nil
	}
	return []byte(strings.ReplaceAll(f.Get("data"), "\r\n", "\n")), nil
}

// formVersion returns the version that a form replaces.
func formVersion(f url.Values) (int32, error) {
	if f.Get("kind") == "create" {
		return 0, nil
	}
	n, err := strconv.ParseInt(f.Get("version"), 10, 32)
	if err != nil || n < -1 {
		return 0, &api.Refusal{Status: http.StatusBadRequest, Text: "the form lacks the version that it replaces"}
	}
	return int32(n), nil
}
